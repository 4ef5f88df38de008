// Note [Order of texts]
// Comparing texts pair by pair reads each of them some twenty times, from all over the memory. Instead each
// text is written once as a key whose bytes are ordered as people order texts, all keys one after the other,
// and they are sorted by eight bytes at a time, as numbers; only those that are alike there are looked at
// further on.
#include "gui/views/natural_order.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace wide::gui {
namespace {

constexpr std::size_t kStep = sizeof(std::uint64_t);

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A run of digits becomes '0', its length without leading zeros, its digits: shorter numbers are smaller.
void append_key(std::string_view text, std::string& keys) {
  constexpr std::size_t kLongest = 255;  // longer runs of digits are ordered as texts
  for (std::size_t i = 0; i < text.size();) {
    auto end = i;
    while (end < text.size() && !is_digit(text[end])) ++end;
    keys.append(text, i, end - i);
    if (end == text.size()) return;
    i = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    while (i + 1 < end && text[i] == '0') ++i;
    keys.push_back('0');
    keys.push_back(static_cast<char>(std::min(end - i, kLongest)));
    keys.append(text, i, end - i);
    i = end;
  }
}

struct Text {
  std::uint64_t bytes = 0;  ///< the next ones of its key, the first the highest; 0 after its end
  std::uint32_t index = 0;
  bool operator<(const Text& other) const {
    return bytes != other.bytes ? bytes < other.bytes : index < other.index;
  }
};

std::uint64_t bytes_at(std::string_view key, std::size_t from) {
  std::uint64_t bytes = 0;
  if (from + kStep <= key.size()) {  // mostly; a single load
    for (std::size_t i = 0; i < kStep; ++i) bytes = bytes << 8 | static_cast<unsigned char>(key[from + i]);
    return bytes;
  }
  for (std::size_t i = 0; i < kStep; ++i)
    bytes = bytes << 8 | (from + i < key.size() ? static_cast<unsigned char>(key[from + i]) : 0U);
  return bytes;
}

}  // namespace

std::vector<std::uint32_t> natural_order(std::span<const std::string> texts) {
  std::string keys;
  std::vector<std::size_t> begins = {0};
  begins.reserve(texts.size() + 1);
  for (const auto& text : texts) {
    append_key(text, keys);
    begins.push_back(keys.size());
  }
  const auto key = [&](std::size_t i) {
    return std::string_view(keys).substr(begins[i], begins[i + 1] - begins[i]);
  };
  std::vector<Text> sorted(texts.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i].index = static_cast<std::uint32_t>(i);
  struct Alike {
    std::size_t first, last;  ///< of `sorted`
    std::size_t bytes;        ///< how many of their keys are the same
  };
  std::vector<Alike> left = {{0, sorted.size(), 0}};
  while (!left.empty()) {
    const auto group = left.back();
    left.pop_back();
    const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(group.first);
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(group.last);
    for (auto text = begin; text != end; ++text) text->bytes = bytes_at(key(text->index), group.bytes);
    if (std::any_of(begin, end, [&](const Text& text) { return text.bytes != begin->bytes; }))
      std::sort(begin, end);
    for (auto first = begin; first != end;) {
      const auto last =
          std::find_if(first, end, [&](const Text& text) { return text.bytes != first->bytes; });
      const auto seen = group.bytes + kStep;
      if (last - first > 1 &&
          std::any_of(first, last, [&](const Text& text) { return key(text.index).size() > seen; }))
        left.push_back({static_cast<std::size_t>(first - sorted.begin()),
                        static_cast<std::size_t>(last - sorted.begin()), seen});
      first = last;
    }
  }
  std::vector<std::uint32_t> order;
  order.reserve(sorted.size());
  for (const auto& text : sorted) order.push_back(text.index);
  return order;
}

}  // namespace wide::gui
