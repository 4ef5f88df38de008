// The members' tensors as the wide model keeps them: once where they are the same, stacked while programs
// read them so.
#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/ir/compare.h"
#include "core/model/wide_model.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::int64_t kMuchWeight = 16 << 20;  // bytes, all members': beyond it, memory counts
// Of the weights, what packed ones may take beyond plain ones: with what making them takes, less than 0.3.
constexpr double kSpare = 0.125;

}  // namespace

// A weight kept already that has the very same bytes for every member: tied, or equal by chance.
std::optional<std::string> WideModel::find_twin(const std::string& fqn) {
  std::size_t hash = 0;
  for (const auto& member : members_) {
    const auto tensor = member.tensors.at(fqn).cpu().resolve_conj().resolve_neg().contiguous();
    const std::string_view bytes(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    hash = hash * 1099511628211ULL + std::hash<std::string_view>()(bytes);
  }
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const bool equal = std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
      const auto& a = member.tensors.at(fqn);
      const auto& b = member.tensors.at(known->second);
      return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && same_bits(a, b);
    });
    if (equal) return known->second;
  }
  by_hash_.emplace(hash, fqn);
  return std::nullopt;
}

const Constant& WideModel::weight(const std::string& fqn) {
  if (const auto known = weights_.find(fqn); known != weights_.end()) return known->second;
  const auto first = members_[0].tensors.at(fqn);
  const bool equal = std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
    return same_bits(member.tensors.at(fqn), first);
  });
  if (const auto twin = find_twin(fqn)) {
    const auto value = weights_.at(*twin);
    for (auto& member : members_) member.tensors[fqn] = member.tensors.at(*twin);
    return weights_.emplace(fqn, value).first->second;
  }
  if (equal) {
    const auto tensor = first.to(device());
    // The caller may write its first member's and take that out of the fleet: others have what is theirs.
    const bool is_callers = options_.borrowed && tensor.is_alias_of(first);
    for (auto& member : members_)
      if (!is_callers) member.tensors[fqn] = tensor;
    return weights_.emplace(fqn, Constant(WideTensor{tensor, Layout::kShared})).first->second;
  }
  std::vector<at::Tensor> all;
  for (const auto& member : members_) all.push_back(member.tensors.at(fqn));
  const bool may_stay =
      options_.borrowed && std::ranges::all_of(all, [&](const at::Tensor& tensor) {
        return tensor.device() == device() && tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
      });
  if (may_stay) return weights_.emplace(fqn, Constant(std::move(all))).first->second;
  const auto stack = at::stack(all).to(device());
  // One copy of the bytes: members look into what the wide model keeps.
  for (std::size_t i = 0; i < members_.size(); ++i)
    members_[i].tensors[fqn] = stack.select(0, static_cast<std::int64_t>(i));
  return weights_.emplace(fqn, Constant(WideTensor{stack, Layout::kFront})).first->second;
}

// Of what programs keep stacked, the caller's tensors need not be kept beside.
void WideModel::settle_weights() {
  for (const auto& [fqn, constant] : weights_) {
    if (constant.layout() == Layout::kShared) continue;
    constant.release();
    constant.settle();
    for (std::int64_t i = 0; i < members(); ++i)
      members_[static_cast<std::size_t>(i)].tensors[fqn] = constant.part(i, 1, /*alone=*/true);
  }
}

// What the caller's modules write into theirs changes no later reset().
void WideModel::own_buffer(const std::string& fqn) {
  for (auto& member : members_) member.tensors[fqn] = member.tensors.at(fqn).clone();
}

// A pass writes these buffers, and the graph does not say that other tensors would change with them.
void WideModel::refuse_overlaps(const std::set<std::string>& written) const {
  struct Place {
    const char *begin, *end;
    const std::string* name;
    const at::Tensor* tensor;
  };
  const auto is_same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() && a.strides() == b.strides();
  };
  for (const auto& member : members_) {
    std::vector<Place> places;
    for (const auto& input : captured_.inputs) {
      if (input.kind == InputKind::kUser) continue;
      const auto& tensor = member.tensors.at(input.target);
      if (!tensor.has_storage() || tensor.numel() == 0) continue;
      std::int64_t last = 0;
      for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
      const auto* begin = static_cast<const char*>(tensor.const_data_ptr());
      places.push_back(
          {begin, begin + (last + 1) * static_cast<std::int64_t>(tensor.itemsize()), &input.target, &tensor});
    }
    std::ranges::sort(places, {}, &Place::begin);
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t k = i + 1; k < places.size() && places[k].begin < places[i].end; ++k) {
        const Place &a = places[i], &b = places[k];
        const bool writes = written.contains(*a.name) || written.contains(*b.name);
        if (!writes || is_same(*a.tensor, *b.tensor)) continue;
        throw Error("widen",
                    "member '" + member.name + "': '" + *a.name + "' and '" + *b.name +
                        "' share memory that a pass writes; make the one a view of the other in forward()");
      }
    }
  }
}

at::Tensor WideModel::initial_buffer(const std::string& fqn) const {
  std::vector<at::Tensor> all;
  for (const auto& member : members_) all.push_back(member.tensors.at(fqn));
  return at::stack(all).to(device());
}

std::int64_t WideModel::weight_bytes() const {
  std::int64_t bytes = 0;
  std::set<const void*> counted;
  for (const auto& [fqn, constant] : weights_) {
    if (counted.insert(constant.identity()).second) bytes += constant.bytes();
  }
  return bytes;
}

bool WideModel::has_much_weight() const {
  return weight_bytes() > kMuchWeight;
}

// The caller holds the weights: what is packed comes on top.
StrategyChoice WideModel::choice_within_memory() const {
  auto choice = options_.strategies;
  if (options_.borrowed && options_.mode < Mode::kMaxAutotune && has_much_weight())
    choice.spare = static_cast<std::int64_t>(kSpare * static_cast<double>(weight_bytes() / members()));
  return choice;
}

}  // namespace wide
