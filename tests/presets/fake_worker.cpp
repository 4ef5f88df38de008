// A worker process without an engine; see fake_measure.h.
#include "presets/fake_measure.h"
#include "presets/worker.h"

int main() {
  return wide::presets::run_worker(wide::test::fake_measure);
}
