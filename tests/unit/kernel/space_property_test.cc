// Space == brute force: on random small files a config is in the space exactly if check_config accepts it for
// one of the problems.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autokernel/kernel/space.h"
#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;

std::string random_operand(Rng& rng) {
  static const char* const kNames[] = {"AA", "BB",     "CC",         "DD",         "N",
                                       "M",  "CAUSAL", "HAS_WEIGHT", "elem_bytes", "warp_size"};
  if (rng.below(3) == 0) return std::to_string(rng.below(9));
  return kNames[rng.below(std::size(kNames))];
}

std::string random_value(Rng& rng, int depth) {
  if (depth == 0 || rng.below(4) == 0) return random_operand(rng);
  static const char* const kOperators[] = {"+", "-", "*", "/", "%"};
  const std::string a = random_value(rng, depth - 1), b = random_value(rng, depth - 1);
  switch (rng.below(4)) {
    case 0:
      return "min(" + a + ", " + b + ")";
    case 1:
      return "ceil_div(" + a + ", " + b + ")";
    default:
      return "(" + a + " " + kOperators[rng.below(std::size(kOperators))] + " " + b + ")";
  }
}

std::string random_condition(Rng& rng) {
  static const char* const kComparisons[] = {"<", "<=", ">", ">=", "==", "!="};
  const std::string condition =
      random_value(rng, 2) + " " + kComparisons[rng.below(6)] + " " + random_value(rng, 1);
  return rng.below(3) == 0 ? condition + " || " + random_value(rng, 1) : condition;
}

std::string random_file(Rng& rng) {
  std::string tunables = "[tunables]\n", defaults = "[defaults]\n";
  for (const char* name : {"AA", "BB", "CC", "DD"}) {
    std::string values;
    const std::uint64_t count = 1 + rng.below(5);
    const std::uint64_t step = 1 + rng.below(20);
    for (std::uint64_t i = 0; i < count; ++i) values += fmt::format("{}{}", i == 0 ? "" : ", ", i * step);
    tunables += fmt::format("{} = [{}]\n", name, values);
    defaults += fmt::format("{} = 0\n", name);
  }
  std::string where, needs;
  for (std::uint64_t i = rng.below(3); i-- > 0;) where += fmt::format("\"{}\",", random_condition(rng));
  for (std::uint64_t i = rng.below(2); i-- > 0;) needs += fmt::format("\"{}\",", random_condition(rng));
  return file_text(
      "dtypes = [\"f32\"]\n" + tunables + defaults + "[constraints]\nwhere = [" + where + "]\nneeds = [" +
      needs + "]\n[[launch]]\nentry = \"f\"\nargs = []\n" +
      fmt::format(
          "grid = [\"max(1, {})\"]\nblock = [\"1 + {}\", \"1 + AA\"]\nshared_bytes = \"max(0, {})\"\n",
          random_value(rng, 2), random_value(rng, 1), random_value(rng, 2)));
}

/// Every raw config in the order of the space.
std::vector<Config> product_of(const std::vector<Tunable>& tunables) {
  std::vector<Config> configs = {Config{}};
  for (const Tunable& tunable : tunables) {
    std::vector<Config> longer;
    for (const Config& config : configs) {
      for (const TunableValue& value : tunable.values) {
        longer.push_back(config);
        longer.back().values[tunable.name] = value;
      }
    }
    configs = std::move(longer);
  }
  return configs;
}

TEST(SpaceProperty, EqualsBruteForceOnRandomFiles) {
  const std::vector<Problem> problems = {problem(), problem({{"M", 3}, {"N", 8}})};
  int not_empty = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Rng rng(seed);
    const std::string text = random_file(rng);
    const KernelFile file = parsed(text);
    const std::size_t count = 1 + seed % 2;
    std::vector<Config> expected;
    for (const Config& config : product_of(file.tunables)) {
      bool valid = false;
      for (std::size_t i = 0; i < count; ++i) {
        const auto invalid = check_config(file, config, problems[i], gpu());
        valid = valid || (invalid && !*invalid);
      }
      if (valid) expected.push_back(config);
    }
    const Result<Space> space = Space::create(file, gpu(), std::span(problems).first(count));
    ASSERT_EQ(space.has_value(), !expected.empty()) << text << (space ? "" : space.error().message);
    if (!space) continue;
    ++not_empty;
    ASSERT_EQ(space->size(), expected.size()) << text;
    std::uint64_t removed = 0;
    for (const Space::Pruned& it : space->pruned()) removed += it.count;
    ASSERT_EQ(removed + space->size(), space->raw_size()) << text;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(space->config(i), expected[i]) << text;
      ASSERT_EQ(space->index_of(expected[i]), i) << text;
    }
  }
  EXPECT_GT(not_empty, 30);  // else the files are too random to say anything
}

TEST(SpaceProperty, NearestEqualsALinearSearch) {
  Rng rng(3);
  const std::vector<Problem> problems = {problem()};
  const KernelFile file =
      parsed(plain_text("[tunables]\nAA = [0, 1, 2, 3, 4, 5]\nBB = [0, 1, 2, 3]\nCC = [0, 1, 2, 3, "
                        "4]\n[constraints]\nwhere = [\"(AA + BB * CC) % "
                        "3 != 0\"]\n[defaults]\nAA = 0\nBB = 0\nCC = 0\n"));
  const Result<Space> space = Space::create(file, gpu(), problems);
  ASSERT_TRUE(space) << space.error().message;
  std::vector<bool> taken(space->size());
  for (int round = 0; round < 300; ++round) {
    std::vector<double> target;
    // Quarters, so that ties occur.
    for (int i = 0; i < 3; ++i) target.push_back(static_cast<double>(rng.below(32)) / 4 - 1);
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = rng.below(3) == 0;
    std::optional<std::size_t> best;
    double best_distance = 1e9;
    for (std::size_t i = 0; i < space->size(); ++i) {
      double distance = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const double step = target[d] - space->coordinates(i)[d];
        distance += step * step;
      }
      if (taken[i] || distance >= best_distance) continue;
      best = i;
      best_distance = distance;
    }
    ASSERT_EQ(space->nearest(target, taken), best);
  }
}

TEST(SpaceProperty, NeighboursAreTheValidConfigsAtDistanceOne) {
  const std::vector<Problem> problems = {problem()};
  const KernelFile file =
      parsed(plain_text("[tunables]\nAA = [0, 1, 2, 3]\nBB = [0, 1, 2]\nCC = [0, 1]\n[constraints]\nwhere = "
                        "[\"AA != BB + CC\"]\n[defaults]\n"
                        "AA = 0\nBB = 0\nCC = 0\n"));
  const Result<Space> space = Space::create(file, gpu(), problems);
  ASSERT_TRUE(space);
  for (std::size_t i = 0; i < space->size(); ++i) {
    std::vector<std::size_t> hamming, adjacent;
    for (std::size_t j = 0; j < space->size(); ++j) {
      int different = 0, distance = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        different += space->coordinates(i)[d] != space->coordinates(j)[d];
        distance += std::abs(space->coordinates(i)[d] - space->coordinates(j)[d]);
      }
      if (different == 1) hamming.push_back(j);
      if (distance == 1) adjacent.push_back(j);
    }
    const auto sorted = [](std::vector<std::size_t> values) {
      std::sort(values.begin(), values.end());
      return values;
    };
    EXPECT_EQ(sorted(space->neighbours(i, Space::Neighbourhood::kHamming)), hamming);
    EXPECT_EQ(sorted(space->neighbours(i, Space::Neighbourhood::kAdjacent)), adjacent);
  }
}

}  // namespace
}  // namespace ak::kernel
