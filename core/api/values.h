#pragma once
// Values of the public interface, to and from those of core.

#include <wide/config.h>
#include <wide/error.h>
#include <wide/report.h>
#include <wide/tensor.h>

#include <new>

#include "core/aten/torch_error.h"
#include "core/model/wide_model.h"
#include "core/prove/prove.h"
#include "formats/error.h"

namespace widebench {

/// What `body` gives; what it throws becomes Error, of `stage` where it is libtorch's.
template <typename Body>
auto with_errors(const char* stage, Body body) {
  try {
    return body();
  } catch (const wide::Error& error) {
    throw Error(error.stage(), error.what());
  } catch (const c10::Error& error) {
    if (wide::is_out_of_memory(error)) throw std::bad_alloc();
    throw Error(stage, wide::first_line(error));
  }
}

Dtype dtype_of(at::ScalarType type);
wide::BuildOptions options_of(const Config& config);
Plan plan_of(const wide::Build& build, std::int64_t members);
Report report_of(const wide::Build& build, const wide::WideModel& model);
Proof proof_of(const wide::Proof& proof);

}  // namespace widebench
