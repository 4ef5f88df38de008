#include "gui/views/bookmarks.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace wide::gui {
namespace {

constexpr std::size_t kProfiles = 32, kPlaces = 100;

// FNV-1a, 64 bits, and a last stir so that sums of it do not cancel.
class Digest {
 public:
  Digest& add(std::string_view text) {
    for (const char byte : text) step(static_cast<unsigned char>(byte));
    step(0xff);
    return *this;
  }
  Digest& add(std::int64_t number) {
    for (int i = 0; i < 8; ++i)
      step(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i)));
    return *this;
  }
  std::uint64_t value() const {
    auto value = state_ ^ (state_ >> 31);
    value *= 0x9e3779b97f4a7c15;
    return value ^ (value >> 29);
  }

 private:
  void step(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3; }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

std::uint64_t digest_of(const profiler::Trace& trace) {
  const auto& slices = trace.slices;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < slices.size(); ++i)
    begin = i == 0 ? slices.start(i) : std::min(begin, slices.start(i));
  std::uint64_t sum = 0;  // of slices in any order
  for (std::size_t i = 0; i < slices.size(); ++i)
    sum += Digest().add(slices.start(i) - begin).add(slices.duration(i)).value();
  return Digest()
      .add(trace.subject)
      .add(trace.contender)
      .add(trace.members)
      .add(static_cast<std::int64_t>(slices.size()))
      .add(static_cast<std::int64_t>(sum))
      .value();
}

}  // namespace

std::string fingerprint(std::span<const profiler::Trace> traces) {
  std::uint64_t sum = 0;
  for (const auto& trace : traces) sum += digest_of(trace);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

std::vector<Bookmark> kept_bookmarks(std::span<const KeptBookmarks> all, const std::string& profile) {
  const auto found = std::ranges::find(all, profile, &KeptBookmarks::profile);
  return found == all.end() ? std::vector<Bookmark>() : found->places;
}

void keep_bookmarks(std::vector<KeptBookmarks>& all, const std::string& profile,
                    std::span<const Bookmark> places) {
  std::erase_if(all, [&](const KeptBookmarks& one) { return one.profile == profile; });
  if (places.empty()) return;
  const auto some = places.first(std::min(places.size(), kPlaces));
  all.insert(all.begin(), {profile, {some.begin(), some.end()}});
  if (all.size() > kProfiles) all.resize(kProfiles);
}

}  // namespace wide::gui
