// What goes into a wide model and comes out, and how much of it runs wide.
#include <ATen/ATen.h>

#include "core/aten/torch_bridge.h"
#include "core/model/wide_model.h"
#include "core/strategy/sequential.h"
#include "formats/error.h"

namespace wide {

ModelInput ModelInput::per_member(std::span<const at::Tensor> tensors, const std::string& name) {
  for (const auto& tensor : tensors) {
    if (tensor.sizes() == tensors[0].sizes() && tensor.scalar_type() == tensors[0].scalar_type()) continue;
    throw Error("run", name + ": members have different shapes or dtypes, " + shape_text(tensors[0].sizes()) +
                           " and " + shape_text(tensor.sizes()) + "; all members of one run need the same");
  }
  return {at::stack(std::vector<at::Tensor>(tensors.begin(), tensors.end())), true};
}

at::Tensor ModelOutput::member(std::int64_t i) const {
  if (parts.empty()) return {};
  if (!mapped) return parts[0];
  // All parts but the last have as many members as the first.
  const auto size = parts[0].size(0);
  return parts[static_cast<std::size_t>(i / size)].select(0, i % size);
}

at::Tensor ModelOutput::stacked() const {
  if (parts.empty()) return {};
  for (const auto& part : parts) {
    if (parts.size() == 1 || part.sizes().slice(1) == parts[0].sizes().slice(1)) continue;
    throw Error("run", "output '" + name + "' has another shape for each member, " +
                           shape_text(parts[0].sizes().slice(1)) + " and " +
                           shape_text(part.sizes().slice(1)) + "; take them member by member");
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

Coverage coverage(const Build& build) {
  Coverage result;
  const auto& plan = build.plan();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    if (node.strategy == kConstantStrategy || plan.at_build(build.optimized.nodes[i])) {
      ++result.constant;
      continue;
    }
    if (node.strategy == kSharedStrategy) {
      ++result.shared;
    } else {
      ++result.nodes;
    }
    if (node.strategy != kSequential.name) continue;
    ++result.sequential;
    ++result.sequential_ops[build.optimized.nodes[i].op];
  }
  result.conversions = static_cast<std::int64_t>(plan.conversions.size());
  result.copies = plan.copying_conversions();
  result.schedule = describe(build.planned.schedule, build.members, build.optimized.device);
  return result;
}

}  // namespace wide
