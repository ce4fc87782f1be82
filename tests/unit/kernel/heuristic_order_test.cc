#include <gtest/gtest.h>

#include "autokernel/kernel/space.h"
#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;

KernelFile sample() {
  return parsed(file_text(
      "dtypes = [\"f32\", \"f16\"]\n[tunables]\nTHREADS = [1, 2, 32, 48, 128, 1024]\nVEC = [1, 4, 8, 64]\n"
      "STAGES = [1, 8]\n[constraints]\nneeds = [\"N % VEC == 0\"]\n"
      "[defaults]\nTHREADS = 2\nVEC = 1\nSTAGES = 8\n[[launch]]\nentry = \"f\"\n"
      "grid = [\"ceil_div(M, THREADS)\"]\nblock = [\"THREADS\"]\nshared_bytes = \"STAGES * 20000\"\nargs = "
      "[]\n"));
}

Problem large() { return problem({{"M", 1 << 20}, {"N", 4096}}); }

std::vector<Config> ordered(const Problem& on, const DeviceInfo& device = gpu()) {
  const KernelFile file = sample();
  const std::vector<Problem> problems = {on, problem({{"M", 8}, {"N", 8}})};
  const Result<Space> space = Space::create(file, device, problems);
  EXPECT_TRUE(space) << space.error().message;
  std::vector<Config> configs;
  for (const std::size_t index : space->heuristic_order(file, device, on))
    configs.push_back(space->config(index));
  EXPECT_EQ(configs.size(), space->size());
  return configs;
}

std::size_t rank(const std::vector<Config>& configs, std::int64_t threads, std::int64_t vec,
                 std::int64_t stages) {
  const Config wanted = config_of({{"THREADS", threads}, {"VEC", vec}, {"STAGES", stages}});
  return static_cast<std::size_t>(std::find(configs.begin(), configs.end(), wanted) - configs.begin());
}

TEST(HeuristicOrder, HoldsEveryConfigOnceWithTheDefaultsFirst) {
  const KernelFile file = sample();
  const std::vector<Problem> problems = {large()};
  const Result<Space> space = Space::create(file, gpu(), problems);
  ASSERT_TRUE(space);
  std::vector<std::size_t> order = space->heuristic_order(file, gpu(), large());
  EXPECT_EQ(space->config(order[0]), file.defaults);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
}

TEST(HeuristicOrder, IsDeterministic) { EXPECT_EQ(ordered(large()), ordered(large())); }

TEST(HeuristicOrder, PrefersFullWarpsOccupancyAndLoadsOf16Bytes) {
  const std::vector<Config> configs = ordered(large());
  EXPECT_LT(rank(configs, 128, 4, 1), rank(configs, 1, 4, 1));
  EXPECT_LT(rank(configs, 128, 4, 1), rank(configs, 48, 4, 1));
  EXPECT_LT(rank(configs, 128, 4, 1), rank(configs, 128, 1, 1));
  EXPECT_LT(rank(configs, 128, 4, 1), rank(configs, 128, 64, 1));
  EXPECT_LT(rank(configs, 128, 4, 1),
            rank(configs, 128, 4, 8));  // 160 KB a block: one block on a multiprocessor
}

TEST(HeuristicOrder, TheBestVectorWidthDependsOnTheElementSize) {
  Problem half = large();
  half.dtype = DType::kF16;
  const std::vector<Config> configs = ordered(half);
  EXPECT_LT(rank(configs, 128, 8, 1), rank(configs, 128, 4, 1));
}

TEST(HeuristicOrder, SmallGridsPreferMoreBlocks) {
  const std::vector<Config> configs = ordered(problem({{"M", 2048}, {"N", 4096}}));
  EXPECT_LT(rank(configs, 32, 4, 1), rank(configs, 1024, 4, 1));
}

TEST(HeuristicOrder, ConfigsThatAreValidForOtherProblemsOnlyComeLast) {
  const std::vector<Config> configs = ordered(problem({{"M", 1 << 20}, {"N", 4}}));
  std::size_t last_valid = 0, first_invalid = configs.size();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool valid = 4 % std::get<std::int64_t>(configs[i].values.at("VEC")) == 0;
    if (valid) last_valid = i;
    if (!valid && i < first_invalid) first_invalid = i;
  }
  EXPECT_LT(last_valid, first_invalid);
  EXPECT_LT(first_invalid, configs.size());
}

TEST(HeuristicOrder, WhereThreadsRunOneAfterAnotherFewOfThemAreTriedFirst) {
  DeviceInfo cpu = gpu();
  cpu.kind = "cpu";
  cpu.natural_block = 1;
  cpu.multiprocessors = 2;
  const KernelFile file =
      parsed(file_text("dtypes = [\"f32\"]\n[tunables]\nTHREADS = [1, 256]\n[defaults]\nTHREADS = "
                       "256\n[[launch]]\nentry = \"f\"\n"
                       "grid = [\"M\"]\nblock = [\"THREADS\"]\nargs = []\n[[launch]]\nentry = \"f\"\ngrid = "
                       "[1]\nblock = [1]\nargs = []\n"));
  const std::vector<Problem> problems = {large()};
  const Result<Space> space = Space::create(file, cpu, problems);
  ASSERT_TRUE(space);
  const std::vector<std::size_t> order = space->heuristic_order(file, cpu, large());
  EXPECT_EQ(space->config(order[0]), file.defaults);
  EXPECT_EQ(space->config(order[1]).to_string(), "THREADS=1");
}

TEST(HeuristicOrder, WithoutAMatchingFileItIsTheOrderOfTheSpace) {
  const Space space = Space::from_points({{"AA", {std::int64_t{1}, std::int64_t{2}}}}, {1, 0});
  EXPECT_EQ(space.heuristic_order(sample(), gpu(), large()), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace ak::kernel
