#include "profiler/trace/chrome_import.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "profiler/trace/chrome_sax.h"
#include "profiler/trace/gzip.h"

namespace wide::profiler {
namespace {

using nlohmann::json;

constexpr std::int64_t kPidsOfTrace = 100;
// Phases that say when, not how long: flows, instants, asynchronous marks, objects, markers.
constexpr std::string_view kWithoutTime = "stfiIPRbneNODcvV";
constexpr double kLongestTime = 9e15;  // nanoseconds, about 100 days: beyond that a time is no time

// "member 3" is how `record_function` in a Python rival says for which member it works; -1: no such name.
std::int32_t member_in(std::string_view name) {
  constexpr std::string_view kPrefix = "member ";
  std::int32_t member = -1;
  if (!name.starts_with(kPrefix)) return -1;
  const auto* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kPrefix.size(), end, member);
  return read.ec == std::errc() && read.ptr == end && member >= 0 ? member : -1;
}

Kind kind_of(const RawEvent& event) {
  static const auto* by_name = [] {
    auto* map = new std::unordered_map<std::string_view, Kind>;
    for (int i = 0; i < kKinds; ++i) map->emplace(name(static_cast<Kind>(i)), static_cast<Kind>(i));
    return map;
  }();
  static const auto* by_category = [] {
    auto* map = new std::unordered_map<std::string_view, Kind>;
    for (int i = kKinds - 1; i >= 0; --i) (*map)[category(static_cast<Kind>(i))] = static_cast<Kind>(i);
    (*map)["user_annotation"] = Kind::kAnnotation;
    (*map)["Kernel"] = Kind::kKernel, (*map)["Memcpy"] = Kind::kMemcpy, (*map)["Memset"] = Kind::kMemset;
    return map;
  }();
  if (const auto found = by_name->find(event.kind); found != by_name->end()) return found->second;
  if (event.category == "user_annotation" && event.name.starts_with("ProfilerStep#")) return Kind::kPass;
  if (event.category == "user_annotation" && member_in(event.name) >= 0) return Kind::kMember;
  const auto found = by_category->find(event.category);
  return found == by_category->end() ? Kind::kOther : found->second;
}

std::int64_t nanoseconds(double microseconds, const char* what) {
  const double value = microseconds * 1000;
  // Kineto's oldest files count from 1970.
  if (!(std::abs(value) < kLongestTime * 1000))
    throw Error("trace", std::string("has an event without ") + what);
  return std::llround(value);
}

std::int32_t small(std::int64_t value) {
  return value >= -1 && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

std::string text_or(const json& object, const char* key, std::string otherwise = {}) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::move(otherwise);
}

double number_or(const json& object, const char* key, double otherwise = 0) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

bool flag_or(const json& object, const char* key, bool otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

const json& list_or_empty(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : kEmpty;
}

// What one process of the file becomes.
class Reader {
 public:
  Reader(const std::string& source, const ImportLimits& limits) : limits_(limits) {
    traces_.resize(1);
    traces_[0].contender = source;
  }

  void add(const RawEvent& event) {
    if (event.phase == 'X') return slice(event);
    if (event.phase == 'M') return metadata(event);
    if (event.phase == 'C') return counter(event, event.name);
    if (event.phase == 'i' && event.name == "[memory]") return counter(event, kMemorySeries);
    if (kWithoutTime.find(event.phase) == std::string_view::npos) ++unread_;
  }

  std::vector<Trace> finish(const json& head);

 private:
  Trace& trace() { return traces_[0]; }

  std::uint32_t track_of(const RawEvent& event, Kind kind) {
    const auto key = std::pair(event.pid, event.tid);
    if (last_track_ != UINT32_MAX && last_key_ == key) return last_track_;
    const auto [found, made] = tracks_.try_emplace(key, static_cast<std::uint32_t>(trace().tracks.size()));
    if (made) {
      Track track;
      track.pid = event.pid, track.tid = event.tid;
      const bool stream = on_device(kind) || kind == Kind::kGpuAnnotation;
      if (stream) track.device = std::max(0, small(event.device));
      trace().tracks.push_back(std::move(track));
    }
    last_key_ = key, last_track_ = found->second;
    return last_track_;
  }

  void slice(const RawEvent& event) {
    if (trace().slices.size() >= limits_.events)
      throw Error("trace", "has more than " + std::to_string(limits_.events) + " events");
    Slice slice;
    slice.kind = kind_of(event);
    slice.start = nanoseconds(event.ts, "a time");
    slice.duration = nanoseconds(event.dur, "a duration");
    if (slice.duration < 0) throw Error("trace", "has an event that ends before it starts");
    slice.name = trace().names.intern(event.name);
    slice.track = track_of(event, slice.kind);
    slice.correlation = event.correlation > 0 && event.correlation <= UINT32_MAX
                            ? static_cast<std::uint32_t>(event.correlation)
                            : 0;
    slice.external = event.external > 0 ? static_cast<std::uint64_t>(event.external) : 0;
    slice.node = small(event.node), slice.member = small(event.member);
    slice.members = std::max(0, small(event.members)), slice.pass = small(event.pass);
    slice.conversion = event.conversion;
    trace().slices.push(slice);
  }

  void metadata(const RawEvent& event) {
    if (event.name == "process_name") processes_[event.pid] = event.label;
    if (event.name == "thread_name") threads_[{event.pid, event.tid}] = event.label;
  }

  void counter(const RawEvent& event, std::string_view series) {
    if (trace().counters.size() >= limits_.events) throw Error("trace", "has too many counter values");
    trace().counters.push_back({nanoseconds(event.ts, "a time"), trace().names.intern(series), event.value});
    counter_pids_.push_back(event.pid);
  }

  void name_tracks();
  void number_passes();
  void number_members();
  void tell_of_unread();
  std::vector<Trace> split(const json& captures);

  const ImportLimits& limits_;
  std::vector<Trace> traces_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> tracks_;
  std::pair<std::int64_t, std::int64_t> last_key_;
  std::uint32_t last_track_ = UINT32_MAX;
  std::map<std::int64_t, std::string> processes_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> threads_;
  std::vector<std::int64_t> counter_pids_;
  std::uint64_t unread_ = 0;  ///< events of phases that are not read though time may be in them
};

void Reader::name_tracks() {
  for (auto& track : trace().tracks) {
    if (const auto found = processes_.find(track.pid); found != processes_.end())
      track.process = found->second;
    const auto found = threads_.find({track.pid, track.tid});
    if (found != threads_.end()) track.name = found->second;
    if (track.name.empty())
      track.name = (track.is_stream() ? "stream " : "thread ") + std::to_string(track.tid);
  }
}

// Slices of one kind that do not overlap, by start.
class Ranges {
 public:
  void add(std::size_t i) { slices_.push_back(i); }
  void sort(const Slices& slices) {
    std::sort(slices_.begin(), slices_.end(),
              [&](std::size_t a, std::size_t b) { return slices.start(a) < slices.start(b); });
  }
  /// Which of them slice `i` starts in; -1: none.
  std::ptrdiff_t around(const Slices& slices, std::size_t i) const {
    const auto after = std::upper_bound(slices_.begin(), slices_.end(), slices.start(i),
                                        [&](auto time, std::size_t p) { return time < slices.start(p); });
    if (after == slices_.begin() || slices.start(i) >= slices.end(*(after - 1))) return -1;
    return after - slices_.begin() - 1;
  }
  std::size_t operator[](std::ptrdiff_t place) const { return slices_[static_cast<std::size_t>(place)]; }
  std::ptrdiff_t size() const { return std::ssize(slices_); }

 private:
  std::vector<std::size_t> slices_;
};

// Kineto marks steps only; what runs during a step is part of it.
void Reader::number_passes() {
  auto& slices = trace().slices;
  Ranges passes;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices.kind(i) == Kind::kPass) passes.add(i);
  }
  passes.sort(slices);
  trace().passes = passes.size();
  if (passes.size() == 0) return;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto pass = passes.around(slices, i);
    if (pass < 0) continue;
    slices.place(i, slices.node(i), slices.member(i), slices.members(i), static_cast<std::int32_t>(pass));
  }
}

// What a thread runs within a range named after a member is that member's.
void Reader::number_members() {
  auto& slices = trace().slices;
  std::map<std::uint32_t, Ranges> turns;  // by track
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices.kind(i) == Kind::kMember) turns[slices.track(i)].add(i);
  }
  for (auto& [track, ranges] : turns) ranges.sort(slices);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto found = turns.find(slices.track(i));
    const auto turn = found == turns.end() ? -1 : found->second.around(slices, i);
    if (turn < 0) continue;
    const auto member = member_in(trace().names[slices.name(found->second[turn])]);
    slices.place(i, slices.node(i), member, 1, slices.pass(i));
    trace().members = std::max<std::int64_t>(trace().members, std::int64_t{member} + 1);
  }
}

TraceNode node_of(const json& given) {
  TraceNode node;
  if (!given.is_object()) return node;
  node.name = text_or(given, "name"), node.op = text_or(given, "op");
  node.strategy = text_or(given, "strategy"), node.at_build = flag_or(given, "at_build", false);
  node.within = text_or(given, "within");
  node.flops = number_or(given, "flops"), node.weight_bytes = number_or(given, "weight_bytes");
  node.activation_bytes = number_or(given, "activation_bytes");
  return node;
}

Completeness badge_of(const json& given) {
  Completeness badge;
  if (!given.is_object()) return badge;
  const auto count = [&](const char* key) {
    return static_cast<std::uint64_t>(std::clamp(number_or(given, key), 0.0, 1e15));
  };
  badge.complete = flag_or(given, "complete", false);
  for (const auto& reason : list_or_empty(given, "because")) {
    if (reason.is_string()) badge.because.push_back(reason.get<std::string>());
  }
  badge.launches = count("launches"), badge.kernels = count("kernels");
  badge.dropped = count("dropped"), badge.unknown = count("unknown");
  badge.traced_us = number_or(given, "traced_us"), badge.untraced_us = number_or(given, "untraced_us");
  return badge;
}

Trace described(const json& capture) {
  Trace trace;
  trace.subject = text_or(capture, "subject"), trace.contender = text_or(capture, "contender");
  trace.members = std::max<std::int64_t>(
      1, small(static_cast<std::int64_t>(std::clamp(number_or(capture, "members", 1), 1.0, 1e6))));
  trace.passes = static_cast<std::int64_t>(std::clamp(number_or(capture, "passes"), 0.0, 1e9));
  for (const auto& node : list_or_empty(capture, "nodes")) trace.nodes.push_back(node_of(node));
  for (const auto& device : list_or_empty(capture, "devices")) {
    if (device.is_string()) trace.devices.push_back(device.get<std::string>());
  }
  if (const auto badge = capture.find("completeness"); badge != capture.end())
    trace.completeness = badge_of(*badge);
  if (const auto facts = capture.find("facts"); facts != capture.end() && facts->is_object()) {
    for (const auto& [key, value] : facts->items()) {
      if (value.is_string()) trace.facts[key] = value.get<std::string>();
    }
  }
  return trace;
}

// One trace per capture, told apart by the process ids that the export gave them.
std::vector<Trace> Reader::split(const json& captures) {
  std::vector<Trace> result;
  for (const auto& capture : captures)
    result.push_back(described(capture.is_object() ? capture : json::object()));
  const auto index = [&](std::int64_t pid) {
    const auto i = pid / kPidsOfTrace;
    return i >= 0 && i < std::ssize(result) ? static_cast<std::size_t>(i) : std::size_t{0};
  };
  auto& all = trace();
  std::vector<std::pair<std::size_t, std::uint32_t>> place;  // by track: trace and track there
  for (auto& track : all.tracks) {
    auto& target = result[index(track.pid)];
    target.tracks.push_back(track);
    place.emplace_back(index(track.pid), static_cast<std::uint32_t>(target.tracks.size() - 1));
  }
  std::vector<std::unordered_map<NameId, NameId>> names(result.size());
  const auto rename = [&](std::size_t to, NameId id) {
    const auto [found, made] = names[to].try_emplace(id, 0);
    if (made) found->second = result[to].names.intern(all.names[id]);
    return found->second;
  };
  for (std::size_t i = 0; i < all.slices.size(); ++i) {
    auto slice = all.slices[i];
    const auto [to, track] = place[slice.track];
    slice.track = track, slice.name = rename(to, slice.name);
    if (slice.node >= std::ssize(result[to].nodes)) slice.node = -1;
    result[to].slices.push(slice);
  }
  for (std::size_t i = 0; i < all.counters.size(); ++i) {
    auto point = all.counters[i];
    const auto to = index(counter_pids_[i]);
    point.series = rename(to, point.series);
    result[to].counters.push_back(point);
  }
  return result;
}

// Begin and end pairs, or what nobody knows: the trace is not all that ran.
void Reader::tell_of_unread() {
  auto& badge = traces_[0].completeness;
  badge.unknown += unread_;
  badge.fail("events of a phase that is not read: " + std::to_string(unread_) +
             "; only complete events (X) are read as work");
}

std::vector<Trace> Reader::finish(const json& head) {
  if (trace().slices.empty() && unread_ > 0) {
    throw Error("trace", "has no complete events (phase X), only " + std::to_string(unread_) +
                             " of phases that are not read; let its writer give complete events");
  }
  name_tracks();
  const auto base = head.is_object() ? head.find("baseTimeNanoseconds") : head.end();
  const bool has_base = head.is_object() && base != head.end() && base->is_number_integer();
  std::vector<std::string> devices;
  for (const auto& device : list_or_empty(head, "deviceProperties")) {
    devices.push_back(device.is_object() ? text_or(device, "name", "GPU") : "GPU");
  }
  const auto ours = head.is_object() ? head.find("widebench") : head.end();
  const bool known = head.is_object() && ours != head.end() && ours->is_object();
  const auto& captures = known ? list_or_empty(*ours, "captures") : list_or_empty(json(), "");
  if (captures.size() > 0 && captures.size() <= 1000) {
    traces_ = split(captures);
  } else {
    for (std::size_t i = 0; i < trace().slices.size(); ++i) {
      const auto& s = trace().slices;
      trace().slices.place(i, -1, s.member(i), s.members(i), s.pass(i));
    }
    number_passes();
    number_members();
    trace().devices = devices;
  }
  if (unread_ > 0) tell_of_unread();
  for (auto& trace : traces_) {
    if (has_base) trace.base_ns = base->get<std::int64_t>();
  }
  return std::move(traces_);
}

}  // namespace

std::vector<Trace> read_chrome(std::string_view text, const std::string& source, const ImportLimits& limits) {
  try {
    if (text.empty()) throw Error("trace", "is empty");
    std::string unpacked;
    if (is_gzip(text)) {
      unpacked = gunzip(text, limits.bytes);
      text = unpacked;
    }
    if (text.size() > limits.bytes)
      throw Error("trace", "is larger than " + std::to_string(limits.bytes) + " bytes");
    Reader reader(source, limits);
    ChromeSax sax(limits.depth, [&](const RawEvent& event) { reader.add(event); });
    json::sax_parse(text.begin(), text.end(), &sax);
    if (!sax.saw_events())
      throw Error("trace", "has no traceEvents; is it a trace of torch.profiler or widebench?");
    return reader.finish(sax.head());
  } catch (const Error& error) {
    throw Error("trace", source + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw Error("trace", source + ": not enough memory to hold the trace");
  }
}

std::vector<Trace> read_chrome_file(const std::filesystem::path& path, const ImportLimits& limits) {
  return formats::naming_file("trace", formats::display_name(path), [&] {
    const auto bytes = formats::read_file(path);
    return read_chrome({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.filename().string(),
                       limits);
  });
}

}  // namespace wide::profiler
