#include "results/holm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wide::results {
namespace {

/// Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m < 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return result;
}

/// Regularised incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_p(double t, double degrees) {
  if (std::isnan(t) || !(degrees > 0)) return profiler::kUnknown;
  if (std::isinf(t)) return 0;
  return incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
}

double student_quantile(double p, double degrees) {
  double low = 0, high = 1;
  while (student_p(high, degrees) > p && high < 1e12) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;  // neighbours
    (student_p(middle, degrees) > p ? low : high) = middle;
  }
  return high;
}

double digamma(double x) {
  double sum = 0;
  for (; x < 8; ++x) sum -= 1 / x;
  const double inverse = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse / 252));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < 8; ++x) sum += 1 / (x * x);
  const double inverse = 1 / (x * x);
  return sum + 1 / x + 0.5 * inverse + inverse / x * (1.0 / 6 - inverse * (1.0 / 30 - inverse / 42));
}

double inverse_trigamma(double y) {
  double low = 1e-8, high = 1e8;  // trigamma falls
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    (trigamma(middle) > y ? low : high) = middle;
  }
  return high;
}

std::vector<double> holm(const std::vector<double>& p, int family) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size(), profiler::kUnknown);
  const std::size_t tests = std::max(order.size(), static_cast<std::size_t>(std::max(family, 0)));
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, p[order[rank]] * static_cast<double>(tests - rank)));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

profiler::Interval wilson(int hits, int trials) {
  if (trials <= 0) return {};
  constexpr double z = profiler::kNormal95;
  const double n = trials, p = hits / n;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double reach = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  return {p, hits == 0 ? 0 : std::max(0.0, middle - reach),
          hits == trials ? 1 : std::min(1.0, middle + reach)};
}

}  // namespace wide::results
