#pragma once
// Values of the public interface, to and from those of core.

#include <wide/config.h>
#include <wide/error.h>
#include <wide/model.h>
#include <wide/report.h>
#include <wide/tensor.h>

#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/aten/torch_error.h"
#include "core/model/wide_model.h"
#include "core/prove/prove.h"
#include "formats/error.h"

namespace widebench {

/// Names of members and tensors are the caller's: control characters in them become "?".
inline std::string one_line(std::string text) {
  for (auto& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

/// What `body` gives; what it throws becomes Error, of `stage` where it is libtorch's.
template <typename Body>
auto with_errors(const char* stage, Body body) {
  try {
    return body();
  } catch (const wide::Error& error) {
    throw Error(error.stage(), one_line(error.what()));
  } catch (const c10::Error& error) {
    if (wide::is_out_of_memory(error)) throw std::bad_alloc();
    throw Error(stage, wide::first_line(error));
  } catch (const std::exception& error) {
    if (!wide::is_plain(error)) throw;
    throw Error(stage, one_line(error.what()));
  }
}

Dtype dtype_of(at::ScalarType type);
wide::BuildOptions options_of(const Config& config);
Plan plan_of(const wide::Build& build, std::int64_t members);
Report report_of(const wide::Build& build, const wide::WideModel& model);
Proof proof_of(const wide::Proof& proof);

/// Its memory was given back, as FullyShardedDataParallel does between passes.
bool lacks_memory(const at::Tensor& tensor);

/// Throws wide::Error ("run") where one is no tensor, has no memory, or lacks the axis of members.
std::vector<wide::ModelInput> inputs_of(std::span<const Input> given);
/// The same memory as a tensor that autograd may save: passes run in inference mode. Conjugation and negation
/// that were put off are carried out, since they are no part of the memory.
at::Tensor ordinary(const at::Tensor& given);
/// Of all members: a tensor, a nested one where sizes differ, one each where numbers of axes do.
Output of_all(wide::ModelOutput output, std::int64_t members);

}  // namespace widebench
