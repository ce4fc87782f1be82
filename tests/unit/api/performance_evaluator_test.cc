#include "autokernel/performance_evaluator.h"

#include "workers_fixture.h"

namespace ak {
namespace {

using test::candidates_of;
using test::softmax_template;
using testing::HasSubstr;
using testing::StartsWith;

class Evaluator : public testing::Test {
 protected:
  static void SetUpTestSuite() { evaluator_.emplace(test::start_evaluator()); }
  static void TearDownTestSuite() { evaluator_.reset(); }
  void SetUp() override { ASSERT_TRUE(*evaluator_) << evaluator_->error().message; }
  PerformanceEvaluator& evaluator() { return **evaluator_; }
  static std::optional<Result<PerformanceEvaluator>> evaluator_;
};
std::optional<Result<PerformanceEvaluator>> Evaluator::evaluator_;

TEST_F(Evaluator, TheFirstCandidateGetsTheFullVerdictAndTheNextAPairedTrial) {
  auto candidates = candidates_of(softmax_template({1}, {1, 2}));
  ASSERT_EQ(candidates.size(), 2U);
  auto first = evaluator().evaluate(candidates[0]);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(first->passed()) << first->failure->message;
  EXPECT_EQ(first->depth, Evaluation::Depth::kFull);
  EXPECT_FALSE(first->speedup);
  auto second = evaluator().evaluate(candidates[1]);
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_TRUE(second->passed()) << second->failure->message;
  EXPECT_EQ(second->depth, Evaluation::Depth::kTrial);
  EXPECT_TRUE(second->speedup);
  EXPECT_TRUE(second->metrics.gpu_utilization.available());
}

TEST_F(Evaluator, EachMetricSaysWhereItComesFrom) {
  auto evaluation = evaluator().evaluate(candidates_of(softmax_template({1}, {3})).at(0));
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  ASSERT_TRUE(evaluation->passed()) << evaluation->failure->message;
  const Metrics& metrics = evaluation->metrics;
  EXPECT_THAT(metrics.execution_time.source,
              testing::AllOf(StartsWith("measured: "), HasSubstr("CPU timings")));
  EXPECT_THAT(metrics.memory_usage.source, StartsWith("derived: "));
  EXPECT_THAT(metrics.gpu_utilization.source,
              testing::AllOf(StartsWith("derived: "), HasSubstr("measured here")));
  EXPECT_GT(metrics.execution_time.value, 0);
  EXPECT_LT(metrics.execution_time.value, 1);
  EXPECT_GT(metrics.gpu_utilization.value, 0);
}

TEST_F(Evaluator, MemoryUsageIsThatOfTheTensorsOfTheProblem) {
  auto evaluation = evaluator().evaluate(candidates_of(softmax_template({1}, {3})).at(0));
  ASSERT_TRUE(evaluation && evaluation->passed());
  EXPECT_EQ(evaluation->metrics.memory_usage.value, 2 * 32 * 128 * 4);
}

TEST_F(Evaluator, AWrongCandidateIsAFailureWithStageKindAndReason) {
  auto evaluation = evaluator().evaluate(candidates_of(softmax_template({2})).at(0));
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  ASSERT_FALSE(evaluation->passed());
  EXPECT_EQ(evaluation->failure->kind, "wrong");
  EXPECT_EQ(evaluation->failure->stage, "smoke");
  EXPECT_FALSE(evaluation->failure->message.empty());
  EXPECT_FALSE(evaluation->metrics.execution_time.available());
}

TEST_F(Evaluator, ACandidateThatDoesNotCompileIsAFailure) {
  GeneratorOptions options = softmax_template({1});
  options.text += "this is no code of {factor} {repeat}\n";
  auto candidates = candidates_of(options);
  ASSERT_TRUE(evaluator().prepare(candidates));
  auto evaluation = evaluator().evaluate(candidates.at(0));
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  ASSERT_FALSE(evaluation->passed());
  EXPECT_EQ(evaluation->failure->kind, "compile");
}

TEST_F(Evaluator, ACandidateOfAnotherArchitectureIsAUsageError) {
  GeneratorOptions options = softmax_template({1});
  options.architecture = "sm_90a";
  auto evaluation = evaluator().evaluate(candidates_of(options).at(0));
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().code, ErrorCode::kUsage);
  EXPECT_THAT(evaluation.error().message, testing::AllOf(HasSubstr("sm_90a"), HasSubstr("cpu")));
}

TEST(PerformanceEvaluator, AWorkerThatIsNoWorkerIsAnEnvironmentError) {
  EvaluatorOptions options;
  options.worker = {"/bin/true"};
  auto evaluator = PerformanceEvaluator::create(options);
  ASSERT_FALSE(evaluator);
  EXPECT_EQ(evaluator.error().code, ErrorCode::kEnvironment);
}

TEST(PerformanceEvaluator, ADeviceThatCannotMeasureIsAnError) {
  ::setenv("AUTOKERNEL_BIN", AK_BINARY, 1);
  EvaluatorOptions options;
  options.device = "abacus";
  auto evaluator = PerformanceEvaluator::create(options);
  ASSERT_FALSE(evaluator);
  EXPECT_THAT(evaluator.error().message, HasSubstr("abacus"));
}

}  // namespace
}  // namespace ak
