// A worker process without an engine; see fake_measure.h.
#include "presets/fake_measure.h"
#include "presets/worker.h"

// A crash is to end this program as it would end one that was built without sanitizers: by its signal.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier): its fixed name
  return "handle_segv=0";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier): its fixed name
  return "handle_segv=0";
}
#endif

int main() {
  return wide::presets::run_worker(wide::test::fake_measure);
}
