#include "profiler/trace/chrome_export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "formats/fault.h"
#include "formats/file.h"
#include "profiler/trace/analysis_json.h"
#include "profiler/trace/gzip.h"

namespace wide::profiler {
namespace {

using nlohmann::json;

constexpr std::size_t kPiece = 1 << 20;
constexpr std::int64_t kPidsPerTrace = 100;  // the host first, then its devices

std::string json_text(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// Collects text and hands it over in large pieces.
class Writer {
 public:
  explicit Writer(const std::function<void(std::string_view)>& sink) : sink_(sink) {}
  ~Writer() = default;
  Writer& operator<<(std::string_view text) {
    buffer_.append(text);
    return *this;
  }
  Writer& operator<<(std::int64_t number) { return append(number); }
  Writer& operator<<(std::uint64_t number) { return append(number); }
  Writer& operator<<(double number) { return std::isfinite(number) ? append(number) : *this << "null"; }
  /// Nanoseconds as microseconds with three decimals.
  Writer& microseconds(std::int64_t nanoseconds) {
    const auto rest = static_cast<int>(std::abs(nanoseconds % 1000));
    if (nanoseconds < 0 && nanoseconds > -1000) buffer_ += '-';
    append(nanoseconds / 1000);
    const std::array<char, 4> digits = {'.', static_cast<char>('0' + rest / 100),
                                        static_cast<char>('0' + rest / 10 % 10),
                                        static_cast<char>('0' + rest % 10)};
    buffer_.append(digits.data(), digits.size());
    return *this;
  }
  void next_event() {
    if (buffer_.size() > kPiece) flush();
    buffer_ += first_ ? "\n" : ",\n";
    first_ = false;
  }
  void flush() {
    sink_(buffer_);
    buffer_.clear();
  }

 private:
  template <typename Number>
  Writer& append(Number number) {
    std::array<char, 40> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    buffer_.append(text.data(), end);
    return *this;
  }

  const std::function<void(std::string_view)>& sink_;
  std::string buffer_;
  bool first_ = true;
};

json nodes_json(const Trace& trace) {
  auto list = json::array();
  for (const auto& node : trace.nodes) {
    list.push_back({{"name", node.name},
                    {"op", node.op},
                    {"strategy", node.strategy},
                    {"at_build", node.at_build},
                    {"within", node.within},
                    {"flops", node.flops},
                    {"weight_bytes", node.weight_bytes},
                    {"activation_bytes", node.activation_bytes}});
  }
  return list;
}

// Writes one trace as processes `pid` and following.
class TraceWriter {
 public:
  TraceWriter(const Trace& trace, std::int64_t pid, std::int64_t base, Writer& out)
      : trace_(trace), pid_(pid), shift_(trace.base_ns - base), out_(out), quoted_(trace.names.size()) {}

  json head() const {
    return {{"subject", trace_.subject},
            {"contender", trace_.contender},
            {"members", trace_.members},
            {"passes", trace_.passes},
            {"pid", pid_},
            {"nodes", nodes_json(trace_)},
            {"facts", trace_.facts},
            {"completeness", to_json(trace_.completeness)},
            {"devices", trace_.devices}};
  }

  void write() {
    name_tracks();
    std::vector<std::uint32_t> order(trace_.slices.size());
    std::iota(order.begin(), order.end(), 0U);
    // An outer slice goes before the inner ones that start with it.
    const auto& slices = trace_.slices;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (slices.start(a) != slices.start(b)) return slices.start(a) < slices.start(b);
      if (slices.duration(a) != slices.duration(b)) return slices.duration(a) > slices.duration(b);
      if (slices.kind(a) != slices.kind(b)) return slices.kind(a) < slices.kind(b);
      return a < b;
    });
    for (const auto i : order) slice(slices[i]);
    for (const auto& point : trace_.counters) counter(point);
  }

 private:
  std::int64_t pid(const Track& track) const { return pid_ + (track.is_stream() ? 1 + track.device : 0); }

  const std::string& name(NameId id) {
    if (quoted_[id].empty()) quoted_[id] = json_text(trace_.names[id]);
    return quoted_[id];
  }

  void metadata(std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view key,
                const std::string& value) {
    out_.next_event();
    out_ << R"({"ph":"M","name":")" << what << R"(","pid":)" << pid << R"(,"tid":)" << tid
         << R"(,"ts":0,"args":{")" << key << R"(":)" << value << "}}";
  }

  void name_tracks() {
    std::map<std::int64_t, std::string> processes{{pid_, trace_.contender}};
    std::map<std::int64_t, std::int64_t> order;
    for (const auto& track : trace_.tracks) {
      if (track.is_stream()) processes.emplace(pid(track), trace_.contender + " on " + track.process);
    }
    for (const auto& [id, process] : processes) {
      metadata("process_name", id, 0, "name", json_text(process));
      metadata("process_labels", id, 0, "labels", json_text(id == pid_ ? "CPU" : "GPU"));
      metadata("process_sort_index", id, 0, "sort_index", std::to_string(id));
    }
    for (const auto& track : trace_.tracks) {
      metadata("thread_name", pid(track), track.tid, "name", json_text(track.name));
      metadata("thread_sort_index", pid(track), track.tid, "sort_index", std::to_string(order[pid(track)]++));
    }
  }

  void slice(const Slice& slice) {
    const auto& track = trace_.tracks[slice.track];
    out_.next_event();
    out_ << R"({"ph":"X","cat":")" << category(slice.kind) << R"(","name":)" << name(slice.name)
         << R"(,"pid":)" << pid(track) << R"(,"tid":)" << track.tid << R"(,"ts":)";
    out_.microseconds(slice.start + shift_) << R"(,"dur":)";
    out_.microseconds(slice.duration) << R"(,"args":{)";
    arguments(slice, track);
    out_ << "}}";
    if (slice.correlation != 0) flow(slice, track);
  }

  void arguments(const Slice& slice, const Track& track) {
    out_ << R"("kind":")" << profiler::name(slice.kind) << R"(")";
    if (slice.external != 0) out_ << R"(,"External id":)" << slice.external;
    if (slice.correlation != 0) out_ << R"(,"correlation":)" << std::uint64_t{slice.correlation};
    if (track.is_stream()) {
      out_ << R"(,"device":)" << std::int64_t{track.device} << R"(,"stream":)" << track.tid;
    }
    if (slice.node >= 0) {
      out_ << R"(,"node index":)" << std::int64_t{slice.node} << R"(,"node":)" << node_name(slice.node);
    }
    if (slice.member >= 0) {
      out_ << R"(,"member":)" << std::int64_t{slice.member} << R"(,"members":)"
           << std::int64_t{slice.members};
    }
    if (slice.pass >= 0) out_ << R"(,"pass":)" << std::int64_t{slice.pass};
    if (slice.conversion) out_ << R"(,"conversion":true)";
    if (slice.detail != 0) out_ << "," << trace_.names[slice.detail];
  }

  const std::string& node_name(std::int32_t node) {
    auto& text = nodes_[node];
    if (text.empty())
      text =
          json_text(node < std::ssize(trace_.nodes) ? trace_.nodes[static_cast<std::size_t>(node)].name : "");
    return text;
  }

  // From the launching call to what ran on the device.
  void flow(const Slice& slice, const Track& track) {
    const bool launches = slice.kind == Kind::kRuntime || slice.kind == Kind::kDriver;
    if (!launches && !on_device(slice.kind)) return;
    out_.next_event();
    out_ << R"({"ph":")" << (launches ? "s" : "f") << R"(","cat":"ac2g","name":"ac2g","id":)"
         << std::uint64_t{slice.correlation} << R"(,"pid":)" << pid(track) << R"(,"tid":)" << track.tid
         << R"(,"ts":)";
    out_.microseconds(slice.start + shift_) << (launches ? "}" : R"(,"bp":"e"})");
  }

  void counter(const CounterPoint& point) {
    out_.next_event();
    out_ << R"({"ph":"C","name":)" << name(point.series) << R"(,"pid":)" << pid_ << R"(,"ts":)";
    out_.microseconds(point.time + shift_) << R"(,"args":{"value":)" << point.value << "}}";
  }

  const Trace& trace_;
  std::int64_t pid_, shift_;
  Writer& out_;
  std::vector<std::string> quoted_;  // by name id, filled on first use
  std::unordered_map<std::int32_t, std::string> nodes_;
};

json device_properties(std::span<const Trace* const> traces) {
  auto list = json::array();
  for (const auto* trace : traces) {
    for (std::size_t i = 0; i < trace->devices.size(); ++i) {
      if (i >= list.size()) list.push_back({{"id", i}, {"name", trace->devices[i]}});
    }
  }
  return list;
}

}  // namespace

void write_chrome(std::span<const Trace* const> traces, const std::function<void(std::string_view)>& sink) {
  std::int64_t base = traces.empty() ? 0 : traces[0]->base_ns;
  for (const auto* trace : traces) base = std::min(base, trace->base_ns);
  Writer out(sink);
  std::vector<TraceWriter> writers;
  auto captures = json::array();
  for (const auto* trace : traces) {
    writers.emplace_back(*trace, 1 + kPidsPerTrace * std::ssize(writers), base, out);
    captures.push_back(writers.back().head());
  }
  const auto text = [](const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  out << R"({"schemaVersion":1,"displayTimeUnit":"ms","baseTimeNanoseconds":)" << base
      << R"(,"deviceProperties":)" << text(device_properties(traces))
      << R"(,"distributedInfo":{"rank":0,"world_size":1},"widebench":)"
      << text({{"schema_version", kTraceSchemaVersion}, {"captures", std::move(captures)}})
      << R"(,"traceEvents":[)";
  for (auto& writer : writers) writer.write();
  out << "\n]}\n";
  out.flush();
}

std::string chrome_json(std::span<const Trace* const> traces) {
  std::string text;
  write_chrome(traces, [&](std::string_view piece) { text += piece; });
  return text;
}

void write_chrome_file(const std::filesystem::path& path, std::span<const Trace* const> traces) {
  auto text = chrome_json(traces);
  if (path.extension() == ".gz") text = gzip(text);
  const auto bytes = std::as_bytes(std::span(text));
  formats::naming_file("trace", formats::display_name(path),
                       [&] { formats::replace_file(path, std::array{bytes}); });
}

}  // namespace wide::profiler
