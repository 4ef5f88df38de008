// A worker process without an engine; see fake_measure.h.
#include "presets/fake_measure.h"
#include "presets/worker.h"

#ifdef __SANITIZE_ADDRESS__
// A crash is to end this program as it would end one that was built without AddressSanitizer: by its signal.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier): its fixed name
  return "handle_segv=0";
}
#endif

int main() {
  return wide::presets::run_worker(wide::test::fake_measure);
}
