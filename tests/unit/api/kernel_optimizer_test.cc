#include "autokernel/kernel_optimizer.h"

#include <cmath>

#include "workers_fixture.h"

namespace ak {
namespace {

using test::candidates_of;
using test::softmax_template;
using testing::HasSubstr;

class Optimizer : public testing::Test {
 protected:
  static void SetUpTestSuite() { evaluator_.emplace(test::start_evaluator()); }
  static void TearDownTestSuite() { evaluator_.reset(); }
  void SetUp() override { ASSERT_TRUE(*evaluator_) << evaluator_->error().message; }

  static OptimizationResult optimize(const std::vector<KernelCandidate>& candidates,
                                     OptimizerOptions options) {
    KernelOptimizer optimizer(**evaluator_, std::move(options));
    auto result = optimizer.optimize(candidates);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : OptimizationResult{};
  }
  static std::string error_of(const std::vector<KernelCandidate>& candidates, OptimizerOptions options) {
    KernelOptimizer optimizer(**evaluator_, std::move(options));
    auto result = optimizer.optimize(candidates);
    EXPECT_FALSE(result);
    if (result) return "";
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    return result.error().message;
  }
  static std::optional<Result<PerformanceEvaluator>> evaluator_;
};
std::optional<Result<PerformanceEvaluator>> Optimizer::evaluator_;

// A sum taken 40 times is several times slower than one taken once.
const std::vector<ParameterValue> kSlowAndFast = {40, 1};

TEST_F(Optimizer, TheFastestCandidateIsFoundAndHasTheFullVerdict) {
  OptimizationResult result =
      optimize(candidates_of(softmax_template({1}, kSlowAndFast)), {.strategy = "exhaustive"});
  ASSERT_TRUE(result.best);
  EXPECT_THAT(result.best->candidate.description(), HasSubstr("repeat=1"));
  EXPECT_EQ(result.best->depth, Evaluation::Depth::kFull);
  EXPECT_EQ(result.objective, result.best->metrics.execution_time.value);
  ASSERT_TRUE(result.start && result.best->speedup);
  EXPECT_THAT(result.start->candidate.description(), HasSubstr("repeat=40"));
  EXPECT_GT(result.best->speedup->ci_low, 1);
  EXPECT_EQ(result.history.size(), 2U);
}

TEST_F(Optimizer, TheUsersObjectiveDecides) {
  OptimizerOptions options;
  options.strategy = "random";
  options.objective = [](const Metrics& metrics) { return -metrics.execution_time.value; };
  OptimizationResult result = optimize(candidates_of(softmax_template({1}, kSlowAndFast)), options);
  ASSERT_TRUE(result.best);
  EXPECT_THAT(result.best->candidate.description(), HasSubstr("repeat=40"));
  EXPECT_LT(result.objective, 0);
}

TEST_F(Optimizer, AnObjectiveThatIsNotANumberMeansNotWanted) {
  OptimizerOptions options;
  options.objective = [](const Metrics&) { return std::nan(""); };
  OptimizationResult result = optimize(candidates_of(softmax_template({1})), options);
  EXPECT_FALSE(result.best);
  ASSERT_EQ(result.history.size(), 1U);
  EXPECT_TRUE(result.history[0].evaluation.passed());
  EXPECT_TRUE(std::isinf(result.history[0].objective));
}

TEST_F(Optimizer, WrongCandidatesAreInTheHistoryAndNeverTheBest) {
  OptimizationResult result = optimize(candidates_of(softmax_template({2, 1})), {.strategy = "exhaustive"});
  ASSERT_TRUE(result.best);
  EXPECT_THAT(result.best->candidate.description(), HasSubstr("factor=1"));
  ASSERT_EQ(result.history.size(), 2U);
  EXPECT_EQ(result.history[0].evaluation.failure->kind, "wrong");
  EXPECT_TRUE(std::isinf(result.history[0].objective));
}

TEST_F(Optimizer, WithoutACandidateThatPassesThereIsNoBest) {
  OptimizationResult result = optimize(candidates_of(softmax_template({2, 3})), {});
  EXPECT_FALSE(result.best);
  EXPECT_FALSE(result.start);
  EXPECT_EQ(result.history.size(), 2U);
}

TEST_F(Optimizer, TheBudgetAndTheObserverEndTheSearch) {
  auto candidates = candidates_of(softmax_template({2, 3, 4, 5}));
  EXPECT_EQ(optimize(candidates, {.budget = 3}).history.size(), 3U);
  std::size_t seen = 0;
  OptimizerOptions options;
  options.observer = [&](const Observation&) { return ++seen < 2; };
  EXPECT_EQ(optimize(candidates, options).history.size(), 2U);
}

TEST_F(Optimizer, ASelectionOfTheCandidatesCanBeSearched) {
  auto candidates = candidates_of(softmax_template({2, 3, 4, 5}));
  candidates.erase(candidates.begin() + 1, candidates.begin() + 3);
  OptimizationResult result = optimize(candidates, {.strategy = "local"});
  EXPECT_EQ(result.history.size(), 2U);
}

TEST_F(Optimizer, BadInputIsAUsageError) {
  auto candidates = candidates_of(softmax_template({2, 3}));
  EXPECT_THAT(error_of({}, {}), HasSubstr("no candidates"));
  EXPECT_THAT(error_of(candidates, {.strategy = "guess"}), HasSubstr("differential-evolution"));
  EXPECT_THAT(error_of(candidates, {.budget = 0}), HasSubstr("budget"));
  auto twice = candidates;
  twice.push_back(candidates.front());
  EXPECT_THAT(error_of(twice, {}), HasSubstr("twice"));
  auto mixed = candidates;
  mixed.push_back(candidates_of(softmax_template({1})).at(0));
  EXPECT_THAT(error_of(mixed, {}), HasSubstr("one kernel file"));
}

}  // namespace
}  // namespace ak
