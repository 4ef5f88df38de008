#pragma once
// The transforms of one axis: B'd of the pixels, A'm of the products, G of the weights (Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks).

#include <cstdint>

namespace wide::kernels::winograd {

struct Two {  // points 0, 1, -1, infinity
  static constexpr int kTile = 2;
  static constexpr double kWeights[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  [[gnu::always_inline]] static void pixels(const float (&d)[4], float (&t)[4]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
  }
  [[gnu::always_inline]] static void results(const float (&m)[4], float (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }
};

struct Four {  // points 0, a, -a, b, -b, infinity; all that is made of them is exact in float32
  static constexpr int kTile = 4;
  static constexpr double a = 0.625, b = 1.5, aa = a * a, bb = b * b;
  static constexpr double na = 1 / (2 * aa * (aa - bb)), nb = 1 / (2 * bb * (bb - aa));
  static constexpr double kWeights[6][3] = {{1 / (aa * bb), 0, 0}, {na, na* a, na* aa},  {na, -na* a, na* aa},
                                            {nb, nb* b, nb* bb},   {nb, -nb* b, nb* bb}, {0, 0, 1}};
  [[gnu::always_inline]] static void pixels(const float (&d)[6], float (&t)[6]) {
    constexpr float kAa = aa, kBb = bb, kA = a, kB = b;
    t[0] = kAa * kBb * d[0] - (kAa + kBb) * d[2] + d[4];
    const float even_a = d[4] - kBb * d[2], odd_a = kA * (d[3] - kBb * d[1]);
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const float even_b = d[4] - kAa * d[2], odd_b = kB * (d[3] - kAa * d[1]);
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = kAa * kBb * d[1] - (kAa + kBb) * d[3] + d[5];
  }
  [[gnu::always_inline]] static void results(const float (&m)[6], float (&y)[4]) {
    constexpr float kA = a, kB = b, kAa = aa, kBb = bb;
    const float sum_a = m[1] + m[2], off_a = kA * (m[1] - m[2]);
    const float sum_b = m[3] + m[4], off_b = kB * (m[3] - m[4]);
    y[0] = m[0] + sum_a + sum_b;
    y[1] = off_a + off_b;
    y[2] = kAa * sum_a + kBb * sum_b;
    y[3] = kAa * off_a + kBb * off_b + m[5];
  }
};

/// form · w · formᵀ of a kernel [3, 3], its places `step` apart.
template <class Form>
void transform_weight(const float* w, float* to, std::int64_t step) {
  constexpr int kEdge = Form::kTile + 2;
  for (const auto& row : Form::kWeights) {
    double half[3] = {};
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) half[j] += row[k] * static_cast<double>(w[3 * k + j]);
    for (int place = 0; place < kEdge; ++place, to += step) {
      double sum = 0;
      for (int j = 0; j < 3; ++j) sum += half[j] * Form::kWeights[place][j];
      *to = static_cast<float>(sum);
    }
  }
}

}  // namespace wide::kernels::winograd
