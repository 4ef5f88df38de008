// Writes the sample traces into the folder given: cpu.json with two captures and gpu.json.
#include <array>
#include <filesystem>

#include "profiler/trace/chrome_export.h"
#include "profiler/trace/sample_traces.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  const auto wide = wide::test::wide_trace(), eager = wide::test::eager_trace(),
             device = wide::test::device_trace();
  wide::profiler::write_chrome_file(folder / "cpu.json",
                                    std::array<const wide::profiler::Trace*, 2>{&wide, &eager});
  wide::profiler::write_chrome_file(folder / "gpu.json",
                                    std::array<const wide::profiler::Trace*, 1>{&device});
}
