#include "profiler/trace/sample_traces.h"

#include <string>

namespace wide::test {
namespace {

using profiler::Kind;
using profiler::Slice;
using profiler::Trace;

Trace empty_trace(const std::string& contender) {
  Trace trace;
  trace.subject = "tiny", trace.contender = contender;
  trace.members = 2, trace.passes = 2, trace.base_ns = 1'700'000'000'000'000'000;
  trace.nodes = {{"%0 aten.linear.default", "aten.linear.default", "batched_gemm", false, 2000, 64, 32},
                 {"%1 aten.relu.default", "aten.relu.default", "wide", false, 10, 0, 16},
                 {"%2 aten.t.default", "aten.t.default", "constant", true, 0, 0, 0}};
  trace.track({contender, "main", 1, 11, -1});
  return trace;
}

void push(Trace& trace, const std::string& name, Kind kind, std::int64_t start, std::int64_t duration,
          std::int32_t node = -1, std::int32_t member = -1, std::int32_t members = 0, std::int32_t pass = 0) {
  Slice slice;
  slice.name = trace.names.intern(name), slice.kind = kind;
  slice.start = start, slice.duration = duration;
  slice.node = node, slice.member = member, slice.members = members, slice.pass = pass;
  trace.slices.push(slice);
}

void launch(Trace& trace, std::uint32_t correlation, std::int64_t launched, std::uint32_t stream,
            std::int64_t start, std::int64_t duration, Kind kind = Kind::kKernel) {
  Slice call;
  call.name = trace.names.intern("cudaLaunchKernel"), call.kind = Kind::kRuntime;
  call.start = launched, call.duration = 5, call.correlation = correlation, call.pass = 0;
  trace.slices.push(call);
  Slice work;
  work.name = trace.names.intern(kind == Kind::kKernel ? "gemm" : "Memcpy DtoD");
  work.kind = kind, work.start = start, work.duration = duration, work.correlation = correlation;
  work.external = 100 + correlation, work.node = 0, work.member = 0, work.members = 2, work.pass = 0;
  work.track = trace.track({"GPU 0", "stream " + std::to_string(stream), 2, stream, 0});
  work.detail = trace.names.intern("\"grid\":[1,2,3]");
  trace.slices.push(work);
}

}  // namespace

Trace wide_trace() {
  auto trace = empty_trace("wide");
  for (std::int32_t pass = 0; pass < 2; ++pass) {
    const std::int64_t at = 5000 * pass;
    push(trace, "pass " + std::to_string(pass), Kind::kPass, at, 1000, -1, 0, 2, pass);
    push(trace, "linear", Kind::kNode, at + 50, 400, 0, 0, 2, pass);
    push(trace, "aten::linear", Kind::kOperator, at + 60, 380, 0, 0, 2, pass);
    push(trace, "aten::addmm", Kind::kOperator, at + 100, 300, 0, 0, 2, pass);
    push(trace, "to layout packed", Kind::kConversion, at + 450, 100, 1, 0, 2, pass);
    push(trace, "aten::copy_", Kind::kOperator, at + 460, 80, 1, 0, 2, pass);
    push(trace, "relu", Kind::kNode, at + 550, 300, 1, 0, 2, pass);
    push(trace, "aten::relu", Kind::kOperator, at + 550, 300, 1, 0, 2, pass);
    push(trace, "aten::clamp_min", Kind::kOperator, at + 600, 200, 1, 0, 2, pass);
    const auto memory = trace.names.intern(profiler::kMemorySeries);
    trace.counters.push_back({at + 10, memory, 1024});
    trace.counters.push_back({at + 200, memory, 4096});
    trace.counters.push_back({at + 900, memory, 1024});
  }
  return trace;
}

Trace eager_trace() {
  auto trace = empty_trace("eager");
  for (std::int32_t pass = 0; pass < 2; ++pass) {
    push(trace, "pass", Kind::kPass, 5000 * pass, 2000, -1, 0, 2, pass);
    for (std::int32_t member = 0; member < 2; ++member) {
      const std::int64_t at = 5000 * pass + 1000 * member;
      push(trace, "member", Kind::kMember, at, 1000, -1, member, 1, pass);
      push(trace, "linear", Kind::kNode, at, 500, 0, member, 1, pass);
      for (int call = 0; call < 4; ++call)
        push(trace, "aten::addmm", Kind::kOperator, at + 20 + 100 * call, 75, 0, member, 1, pass);
      push(trace, "relu", Kind::kNode, at + 500, 400, 1, member, 1, pass);
      push(trace, "aten::clamp_min", Kind::kOperator, at + 600, 200, 1, member, 1, pass);
    }
  }
  return trace;
}

Trace device_trace() {
  auto trace = empty_trace("wide");
  trace.passes = 1;
  trace.devices = {"Test GPU"};
  push(trace, "pass 0", Kind::kPass, 0, 100'000);
  launch(trace, 1, 100, 7, 1'000, 9'000);       // 0..1000 idle, launched after 0: host
  launch(trace, 2, 200, 7, 11'000, 9'000);      // 10000..11000 idle, launched in time, short: kernel
  launch(trace, 3, 300, 8, 15'000, 10'000);     // overlaps on another stream until 25000
  launch(trace, 4, 39'000, 7, 40'000, 10'000);  // 25000..40000 idle, launched late: host
  launch(trace, 5, 39'500, 8, 60'000, 20'000,
         Kind::kMemcpy);  // 50000..60000 idle, launched in time, long: other
  return trace;
}

Trace large_trace(std::size_t count) {
  auto trace = empty_trace("wide");
  trace.passes = static_cast<std::int64_t>(count / 1000 + 1);
  trace.slices.reserve(count);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto pass = static_cast<std::int32_t>(i / 1000);
    if (i % 1000 == 0) {
      at = std::int64_t{pass} * 1'000'000;
      push(trace, "pass", Kind::kPass, at, 900'000, -1, 0, 2, pass);
    } else if (i % 4 == 1) {
      at += 3000;
      push(trace, "node " + std::to_string(i % 300), Kind::kNode, at, 2900, static_cast<int>(i % 2), 0, 2,
           pass);
    } else {
      const auto within = static_cast<std::int64_t>(i % 4) * 700;
      push(trace, "aten::op" + std::to_string(i % 500), Kind::kOperator, at + within, 600,
           static_cast<int>(i % 2), 0, 2, pass);
    }
  }
  return trace;
}

}  // namespace wide::test
