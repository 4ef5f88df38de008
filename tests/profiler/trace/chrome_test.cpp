// Traces to JSON and back, what others wrote, and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/error.h"
#include "profiler/trace/activity.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "profiler/trace/gzip.h"
#include "profiler/trace/sample_traces.h"
#include "profiler/trace/structure.h"
#include "tests/temporary_folder.h"

namespace wide::profiler {
namespace {

using nlohmann::json;

std::string text_of(const Trace& a) {
  return chrome_json(std::array{&a});
}

TEST(ChromeExportTest, CarriesTheFieldsThatReadersLookFor) {
  const auto trace = test::device_trace();
  const auto document = json::parse(text_of(trace));
  EXPECT_EQ(document["displayTimeUnit"], "ms");
  EXPECT_EQ(document["baseTimeNanoseconds"], trace.base_ns);
  EXPECT_EQ(document["deviceProperties"][0]["name"], "Test GPU");
  int kernels = 0, starts = 0, ends = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "s") ++starts;
    if (event["ph"] == "f") {
      ++ends;
      EXPECT_EQ(event["bp"], "e");
    }
    if (event.value("cat", "") != "kernel") continue;
    ++kernels;
    EXPECT_TRUE(event["args"].contains("correlation"));
    EXPECT_TRUE(event["args"].contains("External id"));
    EXPECT_EQ(event["args"]["stream"], event["tid"]);
    EXPECT_EQ(event["args"]["node"], "%0 aten.linear.default");
    EXPECT_EQ(event["args"]["grid"], json({1, 2, 3}));
  }
  EXPECT_EQ(kernels, 4);
  EXPECT_EQ(starts, 5);
  EXPECT_EQ(ends, 5);
}

TEST(ChromeExportTest, PutsOuterSlicesBeforeInnerOnes) {
  const auto document = json::parse(text_of(test::wide_trace()));
  std::string previous;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto name = event["name"].get<std::string>();
    if (name == "aten::relu") {
      EXPECT_EQ(previous, "relu");
    }
    previous = name;
  }
}

TEST(ChromeExportTest, KeepsNanosecondsAndTimesBeforeTheBase) {
  auto trace = test::wide_trace();
  auto later = test::eager_trace();
  later.base_ns += 123'456'789;
  const auto read = read_chrome(chrome_json(std::array<const Trace*, 2>{&trace, &later}), "x");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].slices.start(0), 0);
  EXPECT_EQ(read[1].slices.start(0), 123'456'789);
}

TEST(ChromeRoundTripTest, GivesBackWhatWasWritten) {
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  const auto text = chrome_json(std::array<const Trace*, 2>{&wide, &eager});
  const auto read = read_chrome(text, "file.json");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].contender, "wide");
  EXPECT_EQ(read[1].contender, "eager");
  EXPECT_EQ(read[0].members, 2);
  EXPECT_EQ(read[0].passes, 2);
  EXPECT_EQ(read[0].slices.size(), wide.slices.size());
  EXPECT_EQ(read[1].slices.size(), eager.slices.size());
  ASSERT_EQ(read[0].nodes.size(), 3u);
  EXPECT_EQ(read[0].nodes[0].strategy, "batched_gemm");
  EXPECT_TRUE(read[0].nodes[2].at_build);
  EXPECT_EQ(read[0].counters.size(), 6u);
  EXPECT_TRUE(read[1].counters.empty());
  // A second export of what was read is the same text: nothing was lost.
  EXPECT_EQ(chrome_json(std::array<const Trace*, 2>{&read[0], &read[1]}), text);
}

TEST(ChromeRoundTripTest, DeviceTraceLosesLaunchDetailOnly) {
  const auto trace = test::device_trace();
  const auto read = read_chrome(text_of(trace), "x");
  ASSERT_EQ(read.size(), 1u);
  ASSERT_EQ(read[0].slices.size(), trace.slices.size());
  EXPECT_EQ(read[0].devices, trace.devices);
  int streams = 0;
  for (const auto& track : read[0].tracks) streams += track.is_stream();
  EXPECT_EQ(streams, 2);
}

TEST(ChromeRoundTripTest, KeepsChangesOfLayoutThatOnlyTheDeviceKnows) {
  auto trace = test::device_trace();
  auto kernel = trace.slices[2];
  ASSERT_EQ(kernel.kind, Kind::kKernel);
  kernel.conversion = true;
  trace.slices.push(kernel);
  const auto read = read_chrome(text_of(trace), "x");
  const auto of = structure(read.at(0));
  std::size_t changes = 0;
  for (std::size_t i = 0; i < read[0].slices.size(); ++i) changes += of.conversion[i];
  EXPECT_EQ(changes, 1u);
}

TEST(ChromeRoundTripTest, FilesAreWrittenWholeAndPacked) {
  const test::TemporaryFolder folder;
  const auto trace = test::wide_trace();
  for (const std::string file : {"round.json", "round.json.gz"}) {
    write_chrome_file(folder / file, std::array{&trace});
    EXPECT_EQ(read_chrome_file(folder / file).at(0).slices.size(), trace.slices.size());
  }
  EXPECT_LT(std::filesystem::file_size(folder / "round.json.gz"),
            std::filesystem::file_size(folder / "round.json") / 3);
  EXPECT_THROW(write_chrome_file(folder / "absent/t.json", std::array{&trace}), Error);
  EXPECT_THROW(read_chrome_file(folder / "nothing.json"), Error);
}

TEST(ChromeExportTest, HostileNamesStayText) {
  auto trace = test::wide_trace();
  for (const std::string& name :
       {std::string("\"},{\"ph\":\"X\""), std::string("\xff\xfe broken"), std::string("a\0b", 3),
        std::string("</script>\x1b[31m\n"), std::string(100'000, 'x'), std::string("\u202e")}) {
    trace.slices.push({.name = trace.names.intern(name), .kind = Kind::kOperator});
    trace.nodes.push_back({name, name, name});
    trace.subject = name;
  }
  const auto document = json::parse(text_of(trace));
  EXPECT_EQ(read_chrome(text_of(trace), "x").at(0).slices.size(), trace.slices.size());
}

// A trace as torch.profiler writes it on a GPU, cut to the least.
constexpr const char* kKineto = R"json({"schemaVersion": 1,
 "deviceProperties": [{"id": 0, "name": "NVIDIA X", "totalGlobalMem": 1}],
 "distributedInfo": {"rank": 0}, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000,
 "traceEvents": [
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 42, "tid": 43, "ts": 10.5, "dur": 100,
  "args": {"External id": 1}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 42, "tid": 43, "ts": 20.001, "dur": 30,
  "args": {"External id": 2, "Input Dims": [[1, 2], [2, 3]], "Input type": ["float", {"deep": [1]}]}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42, "tid": 43, "ts": 25, "dur": 5,
  "args": {"External id": 2, "cbid": 211, "correlation": 7}},
 {"ph": "s", "id": 7, "pid": 42, "tid": 43, "ts": 25, "cat": "ac2g", "name": "ac2g"},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40, "dur": 20,
  "args": {"External id": 2, "device": 0, "stream": 7, "correlation": 7, "grid": [1, 1, 1]}},
 {"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 40, "cat": "ac2g", "name": "ac2g", "bp": "e"},
 {"ph": "i", "s": "t", "name": "[memory]", "pid": 42, "tid": 43, "ts": 22,
  "args": {"Total Allocated": 512, "Bytes": 512, "Device Type": 0}},
 {"name": "process_name", "ph": "M", "ts": 10, "pid": 42, "tid": 0, "args": {"name": "python"}},
 {"name": "thread_name", "ph": "M", "ts": 10, "pid": 42, "tid": 43, "args": {"name": "thread 43 (python)"}},
 {"ph": "X", "cat": "Trace", "ts": 10, "dur": 101, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)",
  "args": {"Op count": 0}},
 {"ph": "?", "name": "unknown phase"}
 ], "traceName": "t.json", "nested": {"a": [{"b": [1, 2, null, true, -3, 0.5]}]}})json";

TEST(ChromeImportTest, ReadsATraceOfKineto) {
  const auto traces = read_chrome(kKineto, "step.json");
  ASSERT_EQ(traces.size(), 1u);
  const auto& trace = traces[0];
  EXPECT_EQ(trace.contender, "step.json");
  EXPECT_EQ(trace.base_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(trace.passes, 1);
  ASSERT_EQ(trace.slices.size(), 5u);
  EXPECT_EQ(trace.slices.kind(0), Kind::kPass);
  EXPECT_EQ(trace.slices.start(1), 20'001);
  EXPECT_EQ(trace.slices.pass(1), 0);
  EXPECT_EQ(trace.slices.kind(3), Kind::kKernel);
  EXPECT_EQ(trace.slices.correlation(3), 7u);
  EXPECT_EQ(trace.slices.external(3), 2u);
  EXPECT_TRUE(trace.tracks[trace.slices.track(3)].is_stream());
  EXPECT_EQ(trace.tracks[0].process, "python");
  EXPECT_EQ(trace.devices, std::vector<std::string>{"NVIDIA X"});
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(trace.counters[0].value, 512);
  EXPECT_TRUE(structure(trace).device);
}

// Two steps of two members each, written by torch.profiler: data/make_kineto.py.
TEST(ChromeImportTest, ReadsAFileOfTorchProfiler) {
  const auto traces = read_chrome_file(std::string(TRACE_DATA) + "/kineto_cpu.json.gz");
  ASSERT_EQ(traces.size(), 1u);
  const auto& trace = traces[0];
  EXPECT_EQ(trace.passes, 2);
  EXPECT_EQ(trace.members, 2);
  std::map<std::pair<std::int32_t, std::int32_t>, int> products;  // by pass and member
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (trace.names[trace.slices.name(i)] == "aten::addmm")
      ++products[{trace.slices.pass(i), trace.slices.member(i)}];
  }
  const std::map<std::pair<std::int32_t, std::int32_t>, int> expected = {
      {{0, 0}, 2}, {{0, 1}, 2}, {{1, 0}, 2}, {{1, 1}, 2}};
  EXPECT_EQ(products, expected);
  EXPECT_GT(memory_use(trace).peak, 0);
  const auto spent = activity(trace, structure(trace));
  EXPECT_EQ(spent.passes, 2);
  EXPECT_GT(spent.launches, 2 * 2 * 3);  // two layers and an activation each
  EXPECT_GT(spent.busy, 0);
}

TEST(ChromeImportTest, ReadsABareListOfEvents) {
  const auto traces =
      read_chrome(R"([{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}])", "x");
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_EQ(traces[0].slices.size(), 1u);
}

TEST(ChromeImportTest, RefusesWhatIsNoTrace) {
  const std::string event = R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,)";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,2"), std::string("{}"), std::string("42"),
        std::string("null"), std::string(R"({"traceEvents": {}})"), "[" + event + R"("ts":1,"dur":-1}])",
        "[" + event + R"("ts":1e300,"dur":1}])", std::string(100'000, '['),
        std::string("\x1f\x8b\x08 broken"), gzip("{\"traceEvents\":[]}").substr(0, 20)}) {
    try {
      read_chrome(text, "bad.json");
      FAIL() << text.substr(0, 60);
    } catch (const Error& error) {
      EXPECT_EQ(error.stage(), "trace");
      EXPECT_TRUE(std::string(error.what()).starts_with("bad.json: ")) << error.what();
    }
  }
}

// What a bomb unpacks to is bounded before it is held; what nests without end is not followed.
TEST(ChromeImportTest, RefusesBombsWithoutHoldingThem) {
  const auto said = [](const std::string& text, const ImportLimits& limits = {}) -> std::string {
    try {
      read_chrome(text, "bomb", limits);
    } catch (const Error& error) {
      return error.what();
    }
    return "read";
  };
  const auto bomb = gzip(std::string(200'000'000, ' '));
  EXPECT_LT(bomb.size(), 250'000u);
  EXPECT_EQ(said(bomb, {.bytes = 1'000'000}),
            "bomb: the compressed trace unpacks to more than 1000000 bytes");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += R"({"a":)";
  EXPECT_EQ(said(objects), "bomb: is nested too deeply");
  EXPECT_EQ(said(std::string(1'000'000, '[')), "bomb: is nested too deeply");
  const std::string event = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2,"args":{"x":)";
  EXPECT_EQ(said(event + std::string(1'000'000, '[')), "bomb: is nested too deeply");
}

TEST(ChromeImportTest, NumbersThatAreNoneAreRefused) {
  const std::string start = R"([{"ph":"X","name":"a","pid":1,"tid":1,"dur":2,"ts":)";
  for (const std::string value : {"NaN", "Infinity", "-", "1e999", "1e18", "\"soon\"", "null", "{}"})
    EXPECT_THROW(read_chrome(start + value + "}]", "x"), Error) << value;
  EXPECT_NO_THROW(read_chrome(start + "-5.5}]", "x"));
}

TEST(ChromeImportTest, TellsOfEventsThatItDoesNotRead) {
  const std::string begin =
      R"({"ph":"B","name":"a","pid":1,"tid":1,"ts":1},{"ph":"E","pid":1,"tid":1,"ts":2})";
  const std::string unknown = R"({"ph":"?","name":"b"},{"ph":"","name":"c"},{"name":"d"})";
  const std::string whole = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2})";
  const std::string harmless = R"({"ph":"i","name":"mark","pid":1,"tid":1,"ts":1},{"ph":"s","id":1})";
  const auto read = read_chrome("[" + begin + "," + whole + "," + unknown + "," + harmless + "]", "x");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].slices.size(), 1u);
  EXPECT_EQ(read[0].completeness.unknown, 5u);
  ASSERT_FALSE(read[0].completeness.complete);
  EXPECT_EQ(read[0].completeness.because.at(0).substr(0, 37), "events of a phase that is not read: 5");
  EXPECT_TRUE(read_chrome("[" + whole + "," + harmless + "]", "x").at(0).completeness.complete);
  EXPECT_THROW(read_chrome("[" + begin + "]", "x"), Error);
}

TEST(ChromeImportTest, KeepsToItsLimits) {
  const auto text = text_of(test::wide_trace());
  EXPECT_THROW(read_chrome(text, "x", {.bytes = 100}), Error);
  EXPECT_THROW(read_chrome(text, "x", {.events = 3}), Error);
  EXPECT_THROW(read_chrome(gzip(text), "x", {.bytes = 100}), Error);
  EXPECT_NO_THROW(read_chrome(gzip(text), "x"));
}

TEST(ChromeImportTest, SurvivesDamageAnywhere) {
  // Every byte of a small file changed in turn, and the file cut after every byte.
  const auto trace = test::device_trace();
  auto text = text_of(trace);
  const std::string marks = "\"{}[]:,0-9e\\\xff";
  std::size_t refused = 0;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    auto damaged = text;
    damaged[i] = marks[i % marks.size()];
    for (const auto& sample : {damaged, text.substr(0, i)}) {
      try {
        for (const auto& read : read_chrome(sample, "x")) structure(read);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, text.size() / 6);
}

TEST(GzipTest, RoundTrips) {
  for (const std::size_t size : {0, 1, 1000, 3'000'000}) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
    EXPECT_EQ(gunzip(gzip(bytes), size + 1), bytes);
  }
}

}  // namespace
}  // namespace wide::profiler
