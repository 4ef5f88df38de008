#include "core/strategy/constant.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/aten/pages.h"

namespace wide {
// The storage stays while its memory comes and goes, so that what is made of the stack can be known by it.
struct Constant::Stack {
  explicit Stack(std::vector<at::Tensor> each) : members(std::move(each)) {
    auto sizes = members[0].sizes().vec();
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(members.size()));
    whole = at::empty(sizes, members[0].options());
    free();
  }

  bool is_there() const { return is_there_; }
  void make() {
    if (is_there_) return;
    impl()->set_nbytes(whole.nbytes());
    impl()->set_data_ptr_noswap(in_pages(whole.nbytes(), whole.device()));
    is_there_ = true;
    at::stack_out(whole, members);
  }
  void free() {
    impl()->set_data_ptr_noswap({nullptr, whole.device()});
    impl()->set_nbytes(0);
    is_there_ = false;
  }

  std::vector<at::Tensor> members;
  at::Tensor whole;

 private:
  c10::StorageImpl* impl() const { return whole.storage().unsafeGetStorageImpl(); }
  bool is_there_ = false;
};

Constant::Constant(std::vector<at::Tensor> of_members)
    : stack_(std::make_shared<Stack>(std::move(of_members))) {}

at::Tensor Constant::part(std::int64_t first, std::int64_t count, bool alone) const {
  if (!stack_) {
    const auto& all = value_.tensor;
    if (!all.defined() || value_.layout == Layout::kShared) return all;
    if (alone) return all.select(0, first);
    return count == all.size(0) ? all : all.narrow(0, first, count);
  }
  const auto& own = stack_->members[static_cast<std::size_t>(first)];
  if (alone) return own;
  if (count == 1 && !stack_->is_there()) return own.unsqueeze(0);
  stack_->make();
  return stack_->whole.narrow(0, first, count);
}

void Constant::release() const {
  if (stack_ && stack_->is_there() && stack_->whole.storage().use_count() == 1) stack_->free();
}

void Constant::settle() const {
  if (!stack_ || !stack_->is_there() || stack_->whole.storage().use_count() == 1) return;
  for (std::size_t i = 0; i < stack_->members.size(); ++i)
    stack_->members[i] = stack_->whole.select(0, static_cast<std::int64_t>(i));
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
    for (std::size_t i = 0; i < stack_->members.size(); ++i) take(stack_->members[i], i == 0);
  }
  return all;
}

const void* Constant::identity() const {
  const auto& all = stack_ ? stack_->whole : value_.tensor;
  return all.defined() && all.has_storage() ? all.storage().unsafeGetStorageImpl() : nullptr;
}

const at::Tensor& Constant::stack() const {
  return stack_->whole;
}

const std::vector<at::Tensor>& Constant::members() const {
  return stack_->members;
}

at::Tensor ConstantPart::tensor() const {
  return all_.is_given() ? all_.part(first_, count_, /*alone=*/false) : tensor_;
}

bool ConstantPart::requires_grad() const {
  if (!all_.is_given()) return tensor_.requires_grad();
  return std::ranges::any_of(all_.members(), &at::Tensor::requires_grad);
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
