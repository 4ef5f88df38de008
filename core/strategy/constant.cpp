#include "core/strategy/constant.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/aten/pages.h"

namespace wide {
namespace {

// Bytes: a stack that is large, and what is given back at a time.
constexpr std::size_t kLarge = 1 << 20, kReturned = 2 << 20;

}  // namespace

// The storage stays while its memory comes and goes, so that what is made of the stack can be known by it.
struct Constant::Stack {
  Stack(at::IntArrayRef sizes, const at::TensorOptions& options,
        std::function<at::Tensor(std::int64_t)> of_member, bool is_made)
      : member(std::move(of_member)), whole(at::empty(sizes, options)), made(is_made) {
    free();
  }

  bool is_there() const { return is_there_; }
  at::Tensor of(std::int64_t i) const {
    // Frees what the members before left: aligned blocks seldom fit there, so that the C library would keep
    // it.
    const auto before = [one = bytes() / static_cast<std::size_t>(whole.size(0))](std::int64_t members) {
      return static_cast<std::size_t>(members) * one / kReturned;
    };
    if (made && !is_settled && i > 0 && before(i) > before(i - 1)) return_free_memory();
    return member(i);
  }
  void make() {
    if (is_there_) return;
    impl()->set_nbytes(whole.nbytes());
    impl()->set_data_ptr_noswap(in_pages(whole.nbytes(), whole.device()));
    try {
      fill();
    } catch (...) {
      free();
      throw;
    }
    is_there_ = true;
  }
  void free() {
    impl()->set_data_ptr_noswap({nullptr, whole.device()});
    impl()->set_nbytes(0);
    is_there_ = false;
  }

  std::size_t bytes() const { return static_cast<std::size_t>(whole.numel()) * whole.element_size(); }

  std::function<at::Tensor(std::int64_t)> member;
  at::Tensor whole;
  bool made;                ///< members are made when they are asked for
  bool is_settled = false;  ///< they are read from the whole

 private:
  c10::StorageImpl* impl() const { return whole.storage().unsafeGetStorageImpl(); }
  void fill() {
    if (!made) {
      std::vector<at::Tensor> all;
      for (std::int64_t i = 0; i < whole.size(0); ++i) all.push_back(member(i));
      at::stack_out(whole, all);
      return;
    }
    for (std::int64_t i = 0; i < whole.size(0); ++i) whole.select(0, i).copy_(of(i));
    if (whole.nbytes() > kLarge) return_free_memory();
  }
  bool is_there_ = false;
};

Constant::Constant(std::vector<at::Tensor> of_members) {
  auto sizes = of_members[0].sizes().vec();
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(of_members.size()));
  const auto options = of_members[0].options();
  auto of_member = [members = std::move(of_members)](std::int64_t i) {
    return members[static_cast<std::size_t>(i)];
  };
  stack_ = std::make_shared<Stack>(sizes, options, std::move(of_member), /*is_made=*/false);
}

Constant::Constant(at::IntArrayRef sizes, const at::TensorOptions& options,
                   std::function<at::Tensor(std::int64_t)> make)
    : stack_(std::make_shared<Stack>(sizes, options, std::move(make), /*is_made=*/true)) {}

at::Tensor Constant::part(std::int64_t first, std::int64_t count, bool alone) const {
  if (!stack_) {
    const auto& all = value_.tensor;
    if (!all.defined() || value_.layout == Layout::kShared) return all;
    if (alone) return all.select(0, first);
    return count == all.size(0) ? all : all.narrow(0, first, count);
  }
  if (alone) return stack_->of(first);
  if (count == 1 && !stack_->is_there()) return stack_->of(first).unsqueeze(0);
  stack_->make();
  return stack_->whole.narrow(0, first, count);
}

void Constant::release() const {
  if (stack_ && stack_->is_there() && stack_->whole.storage().use_count() == 1) stack_->free();
}

void Constant::settle() const {
  if (!stack_ || !stack_->is_there() || stack_->whole.storage().use_count() == 1) return;
  stack_->is_settled = true;
  stack_->member = [whole = stack_->whole.alias()](std::int64_t i) { return whole.select(0, i); };
}

std::int64_t Constant::bytes() const {
  const auto& all = stack_ ? stack_->whole : value_.tensor;
  return all.defined() ? static_cast<std::int64_t>(all.nbytes()) : 0;
}

std::pair<double, double> Constant::range() const {
  std::pair<double, double> all{0, 0};
  const auto take = [&](const at::Tensor& tensor, bool first) {
    if (tensor.numel() == 0) return;
    const auto [low, high] = at::aminmax(tensor);
    const std::pair<double, double> one{low.item().toDouble(), high.item().toDouble()};
    if (first || one.first < all.first || std::isnan(one.first)) all.first = one.first;
    if (first || one.second > all.second || std::isnan(one.second)) all.second = one.second;
  };
  if (!stack_) {
    take(value_.tensor, true);
  } else {
    for (std::int64_t i = 0; i < stack_->whole.size(0); ++i) take(stack_->of(i), i == 0);
  }
  return all;
}

const void* Constant::identity() const {
  const auto& all = stack_ ? stack_->whole : value_.tensor;
  return all.defined() && all.has_storage() ? all.storage().unsafeGetStorageImpl() : nullptr;
}

bool Constant::is_made() const {
  return stack_ && stack_->made;
}

const at::Tensor& Constant::stack() const {
  return stack_->whole;
}

at::Tensor ConstantPart::tensor() const {
  return all_.is_given() ? all_.part(first_, count_, /*alone=*/false) : tensor_;
}

bool ConstantPart::requires_grad() const {
  if (!all_.is_given()) return tensor_.requires_grad();
  if (all_.is_made()) return false;  // in a build, which is in inference mode
  for (std::int64_t i = 0; i < all_.stack().size(0); ++i) {
    if (all_.part(i, 1, /*alone=*/true).requires_grad()) return true;
  }
  return false;
}

std::vector<std::int64_t> ConstantPart::sizes() const {
  auto sizes = (all_.is_given() ? all_.stack() : tensor_).sizes().vec();
  if (all_.is_given()) sizes[0] = count_;
  return sizes;
}

at::Tensor ConstantPart::member(std::int64_t i) const {
  return all_.is_given() ? all_.part(first_ + i, 1, /*alone=*/true) : tensor_.select(0, i);
}

}  // namespace wide
