#include "gui/views/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
namespace wide::gui {
namespace {

struct Unit {
  double size;
  const char* name;
};

// The largest unit that `value` holds at least once; the smallest for what is smaller.
const Unit& unit_for(double value, std::span<const Unit> units) {
  for (const auto& unit : units) {
    // 999.6 would be shown as "1000": it is one of the next unit
    if (std::abs(value) >= unit.size * 0.9995) return unit;
  }
  return units.back();
}

std::string with_unit(const Interval& value, std::span<const Unit> units) {
  if (!std::isfinite(value.value)) return kNotKnown;
  const auto& unit = unit_for(value.value, units);
  if (std::abs(value.value) < 5e-4 * unit.size && !value.known()) {
    std::string nothing = "0 ";
    return nothing.append(unit.name);
  }
  auto text = three_figures(value.value / unit.size);
  text.append(" ").append(unit.name);
  if (!value.known()) return text;
  text.append(" [").append(three_figures(value.low / unit.size)).append(", ");
  return text.append(three_figures(value.high / unit.size)).append("]");
}

constexpr std::array<Unit, 4> kTimes = {{{1e6, "s"}, {1e3, "ms"}, {1, "µs"}, {1e-3, "ns"}}};
constexpr std::array<Unit, 5> kBytes = {{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
constexpr std::array<Unit, 4> kRates = {
    {{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}, {1e3, "kFLOP/s"}}};

std::string signed_percent(double ratio) {
  const double percent = (ratio - 1) * 100;
  std::string text = percent < 0 ? "" : "+";
  return text.append(three_figures(percent));
}

}  // namespace

std::string three_figures(double value) {
  if (!std::isfinite(value)) return kNotKnown;
  const double size = std::abs(value);
  int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  if (size > 0 && size < 0.995)
    decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 2, 6);
  if (size < 5e-7) return "0";
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  std::string result = text.data();
  std::replace(result.begin(), result.end(), ',', '.');  // whatever the locale says
  return result;
}

std::string show_time(const Interval& microseconds) {
  return with_unit(microseconds, kTimes);
}

std::string show_ratio(const Interval& ratio) {
  if (!std::isfinite(ratio.value)) return kNotKnown;
  auto text = three_figures(ratio.value);
  text.append("×");
  if (!ratio.known()) return text;
  text.append(" [").append(three_figures(ratio.low)).append(", ").append(three_figures(ratio.high));
  return text.append("]");
}

std::string show_change(const Interval& ratio) {
  if (!std::isfinite(ratio.value)) return kNotKnown;
  auto text = signed_percent(ratio.value);
  text.append(" %");
  if (!ratio.known()) return text;
  text.append(" [").append(signed_percent(ratio.low)).append(", ").append(signed_percent(ratio.high));
  return text.append("]");
}

std::string show_count(const Interval& count) {
  if (!std::isfinite(count.value)) return kNotKnown;
  if (count.value != std::floor(count.value) || std::abs(count.value) > 1e15)
    return three_figures(count.value);
  auto text = std::to_string(static_cast<long long>(count.value));
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (count.value < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string show_share(const Interval& share) {
  if (!std::isfinite(share.value)) return kNotKnown;
  auto text = three_figures(share.value * 100);
  return text.append(" %");
}

std::string show_error(const Interval& error) {
  if (std::isnan(error.value)) return kNotKnown;
  if (error.value == 0) return "0";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.2e", error.value);
  return text.data();
}

std::string show_probability(const Interval& p) {
  if (std::isnan(p.value)) return kNotKnown;
  return p.value >= 0.9995 ? "1" : p.value >= 0.001 ? three_figures(p.value) : show_error(p);
}

std::string show_rate(const Interval& per_second) {
  return with_unit(per_second, kRates);
}

std::string show_bytes(const Interval& bytes) {
  return with_unit(bytes, kBytes);
}

}  // namespace wide::gui
