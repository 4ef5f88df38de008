#include "core/strategy/member_fault.h"

#include <ATen/ATen.h>

#include "core/aten/torch_error.h"
#include "core/eager/operators.h"

namespace wide {

void find_member_fault(const Call& call, std::span<const Layout> layouts,
                       std::span<const at::Tensor> operands, const std::string& where) {
  if (draws_random(call.node)) return;
  const PreparedCall run(call.node);
  std::vector<c10::IValue> inputs(operands.size()), outputs;
  for (std::int64_t member = 0; member < call.members; ++member) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      inputs[i] = member_view(operands[i], layouts[i], call.operands[i].type, member, call.members);
    try {
      run.run(inputs, outputs);
    } catch (const c10::Error& error) {
      if (is_out_of_memory(error)) return;
      throw MemberFault("run", member, where, first_line(error));
    }
  }
}

}  // namespace wide
