#include "autokernel/search/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ak::search {
namespace {

/// A smooth function with its minimum, 3, at (0.3, 0.7).
double valley(double x, double y) { return 3 + 10 * std::pow(x - 0.3, 2) + 5 * std::pow(y - 0.7, 2); }

Surrogate fitted() {
  std::vector<double> points, values;
  for (int x = 0; x <= 6; ++x) {
    for (int y = 0; y <= 6; ++y) {
      points.insert(points.end(), {x / 6.0, y / 6.0});
      values.push_back(valley(x / 6.0, y / 6.0));
    }
  }
  Surrogate surrogate(2);
  surrogate.fit(points, values, Surrogate::LengthScale::kChoose);
  return surrogate;
}

TEST(Surrogate, PredictsASmoothFunctionBetweenItsPoints) {
  const Surrogate surrogate = fitted();
  for (const auto& [x, y] : {std::pair{0.25, 0.6}, {0.4, 0.9}, {0.08, 0.42}}) {
    EXPECT_NEAR(surrogate.mean(std::vector{x, y}), valley(x, y), 0.15);
    EXPECT_EQ(surrogate.predict(std::vector{x, y}).mean, surrogate.mean(std::vector{x, y}));
  }
}

TEST(Surrogate, GradientMatchesFiniteDifferencesOfItsMean) {
  const Surrogate surrogate = fitted();
  const std::vector point{0.55, 0.35};
  const std::vector<double> slope = surrogate.gradient(point);
  constexpr double kStep = 1e-5;
  for (std::size_t d = 0; d < 2; ++d) {
    std::vector<double> up = point, down = point;
    up[d] += kStep;
    down[d] -= kStep;
    EXPECT_NEAR(slope[d], (surrogate.mean(up) - surrogate.mean(down)) / (2 * kStep), 1e-4);
  }
}

TEST(Surrogate, IsLessCertainFarFromItsPoints) {
  Surrogate surrogate(1);
  surrogate.fit(std::vector{0.0, 0.1, 0.2}, std::vector{1.0, 2.0, 1.0}, Surrogate::LengthScale::kKeep);
  EXPECT_LT(surrogate.predict(std::vector{0.1}).deviation, surrogate.predict(std::vector{0.9}).deviation);
}

TEST(Surrogate, OfEqualValuesIsFlat) {
  Surrogate surrogate(1);
  surrogate.fit(std::vector{0.0, 0.5, 1.0}, std::vector{4.0, 4.0, 4.0}, Surrogate::LengthScale::kChoose);
  EXPECT_EQ(surrogate.mean(std::vector{0.3}), 4);
  EXPECT_EQ(surrogate.gradient(std::vector{0.3})[0], 0);
}

TEST(Surrogate, OfOnePointPredictsItsValue) {
  Surrogate surrogate(2);
  surrogate.fit(std::vector{0.5, 0.5}, std::vector{7.0}, Surrogate::LengthScale::kChoose);
  EXPECT_EQ(surrogate.mean(std::vector{0.1, 0.9}), 7);
}

TEST(Surrogate, SurvivesTheSamePointTwice) {
  Surrogate surrogate(1);
  surrogate.fit(std::vector{0.5, 0.5, 1.0}, std::vector{1.0, 3.0, 5.0}, Surrogate::LengthScale::kChoose);
  EXPECT_NEAR(surrogate.mean(std::vector{0.5}), 2, 0.1);
}

}  // namespace
}  // namespace ak::search
