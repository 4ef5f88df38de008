#include "gui/views/time_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

constexpr std::size_t kMostTicks = 2000;

// The round step at or above `least`: 1, 2 or 5 times a power of ten.
double round_step(double least) {
  const double decade = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (decade * factor >= least * (1 - 1e-9)) return decade * factor;
  }
  return decade * 10;
}

// `time` in the unit that suits `step`, with as many decimals as tell two steps apart.
std::string tick_text(double time, double step) {
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
  const auto largest = std::max(std::abs(time), step);
  const auto* unit = &kUnits.back();
  for (const auto& candidate : kUnits) {
    if (largest >= candidate.nanoseconds) {
      unit = &candidate;
      break;
    }
  }
  const int decimals =
      std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit->nanoseconds) - 1e-9)), 0, 9);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, time / unit->nanoseconds, unit->name);
  return text.data();
}

}  // namespace

void TimeView::set_extent(double from, double to) {
  first_ = from;
  last_ = std::max(to, from + 1);
  clamp();
}

void TimeView::set_width(double pixels) {
  pixels = std::max(1.0, pixels);
  scale_ *= width_ / pixels;
  width_ = pixels;
  clamp();
}

void TimeView::fit() {
  show(first_, last_);
}

void TimeView::show(double from, double to) {
  const double length = std::max(to - from, kFinest);
  scale_ = 1.1 * length / width_;
  from_ = from - 0.05 * length;
  clamp();
}

void TimeView::zoom(double factor, double x) {
  const double anchor = time_of(x);
  scale_ /= factor;
  const double length = last_ - first_;
  scale_ = std::clamp(scale_, kFinest, std::max(kFinest, 2 * length / width_));
  from_ = anchor - x * scale_;
  clamp();
}

void TimeView::pan(double pixels) {
  from_ -= pixels * scale_;
  clamp();
}

void TimeView::reveal(double time) {
  if (time >= from_ && time <= to()) return;
  const double quarter = width_ * scale_ / 4;
  if (time < from_ + quarter) from_ = time - quarter;
  if (time > to() - quarter) from_ = time + quarter - width_ * scale_;
  clamp();
}

bool TimeView::fits_all() const {
  return from_ <= first_ && to() >= last_;
}

void TimeView::clamp() {
  const double length = last_ - first_;
  scale_ = std::clamp(scale_, kFinest, std::max(kFinest, 2 * length / width_));
  const double half = width_ * scale_ / 2;
  const double low = first_ - half, high = std::max(low, last_ - half);
  from_ = std::clamp(from_, low, high);
}

std::vector<Tick> ticks(const TimeView& view, double apart) {
  const double step = round_step(std::max(1e-3, apart * view.scale()));
  const double mantissa = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
  const int parts = mantissa > 1.5 && mantissa < 2.5 ? 4 : 5;
  std::vector<Tick> result;
  const auto first = std::floor(view.from() / step) * parts;
  for (std::size_t i = 0; i < kMostTicks; ++i) {
    const double at = first + static_cast<double>(i);
    const double time = at * step / parts;
    if (time > view.to()) break;
    if (time < view.from()) continue;
    const bool major = std::fmod(at, parts) == 0;
    result.push_back({time, major ? (at == 0 ? "0" : tick_text(time, step)) : ""});
  }
  return result;
}

std::string span_text(double nanoseconds) {
  return show_time({nanoseconds / 1e3});
}

}  // namespace wide::gui
