#pragma once
// The tests behind a comparison: Student's t, Holm's correction, an interval for a proportion.

#include <vector>

#include "profiler/statistics.h"

namespace wide::results {

/// Two-sided p-value of Student's t with `degrees` > 0 of freedom. NaN for NaN.
double student_p(double t, double degrees);
/// The t that student_p gives `p` in (0, 1).
double student_quantile(double p, double degrees);

/// Holm's step-down correction: p-values that may each be held against alpha, with the chance of any false
/// alarm among them at most alpha. NaN (not tested) stays NaN and does not count.
/// `family`: there were so many tests at least, those not given having larger p-values.
std::vector<double> holm(const std::vector<double>& p, int family = 0);

/// Wilson's 95 % interval of a proportion; unknown without trials.
profiler::Interval wilson(int hits, int trials);

/// First and second derivative of the logarithm of the gamma function, x > 0.
double digamma(double x);
double trigamma(double x);
/// The x with trigamma(x) = y, y > 0.
double inverse_trigamma(double y);

}  // namespace wide::results
