#pragma once
// What a fake worker does in place of building and measuring: the subject's name says how it goes.

#include "presets/case.h"
#include "results/record.h"

namespace wide::test {

/// "ok" and everything not named here: pass after a moment. "fail", "skipped": these verdicts. "throw":
/// wide::Error. "crash", "abort", "overflow": a signal. "hang": for ever. "oom", "library_oom", "exhaust",
/// "uncaught_oom": out of memory, in four ways. "garbage", "silent", "other", "unproved", "exit3": bad
/// answers. "chatty": prints a lot, then ok. "straggler": leaves a process behind that holds the pipes, then
/// ok. "slow": ok after 0.2 s.
void fake_measure(const presets::CaseSpec& spec, results::CaseRecord& record);

}  // namespace wide::test
