#pragma once
// A fault of one member in work that is done for several at once.

#include <cstdint>
#include <span>
#include <string>

#include "core/strategy/primitive.h"
#include "formats/error.h"

namespace wide {

class MemberFault : public Error {
 public:
  /// `member` counts from 0; `where` names the node, `reason` is what the member alone says.
  MemberFault(const std::string& stage, std::int64_t member, std::string where, std::string reason)
      : Error(stage, where + ": member " + std::to_string(member) + ": " + reason),
        member_(member),
        where_(std::move(where)),
        reason_(std::move(reason)) {}

  std::int64_t member() const { return member_; }
  /// The same where `first` members come before those that it was counted among.
  MemberFault behind(std::int64_t first) const { return {stage(), first + member_, where_, reason_}; }
  /// With the member's name for its number.
  Error named(const std::string& name) const {
    return {stage(), where_ + ": member '" + name + "': " + reason_};
  }

 private:
  std::int64_t member_;
  std::string where_, reason_;
};

/// Runs `call` for one member after the other on `operands` in `layouts`; throws MemberFault ("run") for the
/// first that fails, with its own sizes in the message, and returns where none does. Nothing that draws
/// random numbers is run.
void find_member_fault(const Call& call, std::span<const Layout> layouts,
                       std::span<const at::Tensor> operands, const std::string& where);

}  // namespace wide
