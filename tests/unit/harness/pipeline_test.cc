// The pipeline on the CPU device: the starters of the families through every stage, and where wrong ones
// stop.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "autokernel/base/file.h"
#include "autokernel/device/cpu/cpu_compiler.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/forwarding_device.h"
#include "autokernel/embed/device_headers.h"
#include "fixtures.h"

namespace ak::harness {
namespace {

using namespace ak::harness::testing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

/// Few and small sizes, so that a full verdict takes a fraction of a second.
op::Registry small_registry() {
  const op::Registry all = registry();
  op::Registry small = registry();
  for (op::Family family : all.families()) {
    family.sizes["sweep"].resize(1);
    family.sizes["edge"].resize(3);
    small.add(std::move(family));
  }
  return small;
}

/// A device that says it has less memory, and counts timed batches that nothing ran before.
class SmallMemoryDevice final : public device::ForwardingDevice {
 public:
  SmallMemoryDevice(device::Device& device, std::uint64_t bytes) : ForwardingDevice(device) {
    info_.memory_bytes = bytes;
  }
  std::size_t back_to_back() const { return back_to_back_; }

  Result<device::RunOutcome> run(std::span<const device::Step> steps,
                                 std::chrono::milliseconds deadline) override {
    timed_last_ = false;
    return ForwardingDevice::run(steps, deadline);
  }
  Result<device::TimeOutcome> time(std::span<const device::Round> rounds, const TimeLimits& limits) override {
    if (timed_last_) ++back_to_back_;
    timed_last_ = true;
    return ForwardingDevice::time(rounds, limits);
  }

 private:
  std::size_t back_to_back_ = 0;
  bool timed_last_ = false;
};

/// Rounds of 60 us by the device's clock; the host's says 70 us and, of every `late`-th round, 400 us.
class LateHostDevice final : public device::ForwardingDevice {
 public:
  LateHostDevice(device::Device& device, std::size_t late) : ForwardingDevice(device), late_(late) {}
  Result<device::TimeOutcome> time(std::span<const device::Round> rounds, const TimeLimits& limits) override {
    AK_TRY(outcome, ForwardingDevice::time(rounds, limits));
    for (device::RoundTime& round : outcome.rounds) {
      round.us = 60;
      round.wall_us = (++rounds_ % late_ == 0 ? 400 : 70) * rounds[&round - outcome.rounds.data()].repeats;
    }
    return outcome;
  }

 private:
  std::size_t late_;
  std::size_t rounds_ = 0;
};

class PipelineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = new Result<TempDir>(TempDir::create("ak-pipeline"));
    ASSERT_TRUE(*cache_);
    registry_ = new op::Registry(small_registry());
    cpu::CpuCompilerOptions options;
    options.cache = (*cache_)->path();
    for (const EmbeddedFile& file : embed::device_headers()) options.device_headers.push_back(file);
    auto compiler = cpu::CpuCompiler::create(std::move(options));
    ASSERT_TRUE(compiler) << compiler.error().message;
    compiler_ = compiler->release();
    auto device = cpu::CpuDevice::create({.jail_command = {}, .threads = 2});
    ASSERT_TRUE(device) << device.error().message;
    device_ = device->release();
  }
  static void TearDownTestSuite() {
    delete device_;
    delete compiler_;
    delete registry_;
    delete cache_;
  }

  static Job job_of(const std::string& text, const std::string& size, Depth depth = Depth::kFull,
                    DType dtype = DType::kF32) {
    auto file = kernel::parse(text, "kernel.cu");
    EXPECT_TRUE(file) << file.error().message;
    const op::Family& family = **registry_->find(file->op);
    Job job;
    job.target = {
        .id = "t", .op = file->op, .problems = {{.id = "p0", .problem = problem_of(family, size, dtype)}}};
    job.candidate = {"kernel.cu", text, file->defaults};
    job.depth = depth;
    job.seed = 99;
    job.time_budget_s = 0.02;
    return job;
  }
  static std::string starter(const std::string& op) { return (*registry_->find(op))->kernels.front().text; }
  static Verdict judge(const Job& job, const CheckSet& checks = CheckSet::all()) {
    return judge_on(*device_, job, checks);
  }
  static Verdict judge_on(device::Device& device, const Job& job, const CheckSet& checks = CheckSet::all()) {
    SystemClock clock;
    Harness harness(device, *compiler_, *registry_, checks, clock);
    auto verdict = harness.judge(job);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict ? *verdict : Verdict{};
  }

  static Result<TempDir>* cache_;
  static op::Registry* registry_;
  static cpu::CpuCompiler* compiler_;
  static cpu::CpuDevice* device_;
};

Result<TempDir>* PipelineTest::cache_ = nullptr;
op::Registry* PipelineTest::registry_ = nullptr;
cpu::CpuCompiler* PipelineTest::compiler_ = nullptr;
cpu::CpuDevice* PipelineTest::device_ = nullptr;

struct Starter {
  const char* op;
  const char* size;
  DType dtype;
};

class StarterTest : public PipelineTest, public ::testing::WithParamInterface<Starter> {};

TEST_P(StarterTest, PassesEveryStageAndIsTimed) {
  const auto [op, size, dtype] = GetParam();
  const Verdict verdict = judge(job_of(starter(op), size, Depth::kFull, dtype));
  EXPECT_TRUE(verdict.passed) << (verdict.failure ? verdict.failure->message : "");
  for (Stage stage :
       {Stage::kCompile, Stage::kAudit, Stage::kSmoke, Stage::kShapeSweep, Stage::kNumericalStability,
        Stage::kDeterminism, Stage::kEdgeCases, Stage::kIntegrity, Stage::kTime, Stage::kPlausibility}) {
    EXPECT_THAT(verdict.stages, Contains(Pair(std::string(name(stage)), "PASS")));
  }
  ASSERT_EQ(verdict.timings.size(), 1u);
  const Timing& timing = verdict.timings[0];
  EXPECT_EQ(timing.problem_id, "p0");
  EXPECT_GT(timing.time.median_us, 0);
  EXPECT_LE(timing.time.ci_low_us, timing.time.median_us);
  EXPECT_GE(timing.time.ci_high_us, timing.time.median_us);
  EXPECT_EQ(timing.l2, CacheState::kWarm);
  ASSERT_TRUE(timing.floor_us);
  EXPECT_GT(*timing.floor_us, 0);
  EXPECT_GT(timing.peak_gbps, 0);
  EXPECT_GT(timing.peak_tflops, 0);
  EXPECT_GT(verdict.peak_memory_bytes, 0u);
  EXPECT_GT(verdict.worst_error, 0);
  EXPECT_LT(verdict.worst_error, 1);
  EXPECT_TRUE(verdict.sandboxed);
  EXPECT_FALSE(verdict.selftest);
  EXPECT_EQ(verdict.device.kind, "cpu");
}

// cross_entropy: int64 inputs, an f32 output of f16 inputs, a reference of four launches, a mean of nothing
// (NaN).
INSTANTIATE_TEST_SUITE_P(Families, StarterTest,
                         ::testing::Values(Starter{"rmsnorm", "M=8,N=64", DType::kF32},
                                           Starter{"rmsnorm", "M=5,N=48,residual", DType::kBF16},
                                           Starter{"softmax", "ROWS=8,COLS=64", DType::kF32},
                                           Starter{"cross_entropy", "ROWS=8,V=64,REDUCTION=1", DType::kF16},
                                           Starter{"matmul", "M=16,N=24,K=32", DType::kF32},
                                           Starter{"matmul", "M=16,N=16,K=64,TRANS_B=1,bias", DType::kF16},
                                           Starter{"conv2d", "C=2,H=8,W=9,K=3,R=3,S=3,PAD_H=1,PAD_W=1",
                                                   DType::kF32}),
                         [](const auto& param) {
                           return fmt::format("{}_{}_{}", param.param.op, name(param.param.dtype),
                                              param.index);
                         });

TEST_F(PipelineTest, RoundsThatTheHostSawLateAreNoSignOfATimerThatLies) {
  const Job job = job_of(starter("rmsnorm"), "M=8,N=128");
  LateHostDevice sometimes(*device_, 3), always(*device_, 1);
  const Verdict passed = judge_on(sometimes, job);
  EXPECT_TRUE(passed.passed) << (passed.failure ? passed.failure->message : "");
  const Verdict refused = judge_on(always, job);
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->check, "time.clock");
}

TEST_F(PipelineTest, SmokeDepthEndsAfterTheSmokeStage) {
  const Verdict verdict = judge(job_of(starter("rmsnorm"), "M=8,N=64", Depth::kSmoke));
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.stages.size(), 3u);
  EXPECT_TRUE(verdict.timings.empty());
}

/// The mean of no rows; what counts is that the contract has a NaN there too.
TEST_F(PipelineTest, ANanIsANanWhateverItsPayload) {
  std::string text = starter("cross_entropy");
  const std::string mean = "REDUCTION == 1 ? sum / count : sum";
  const std::size_t at = text.find(mean);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, mean.size(), "count > 0 || REDUCTION == 2 ? sum / (REDUCTION == 1 ? count : 1) : VALUE");
  const auto with = [&](const std::string& value) {
    std::string changed = text;
    return judge(
        job_of(changed.replace(changed.find("VALUE"), 5, value), "ROWS=4,V=32,REDUCTION=1", Depth::kSmoke));
  };
  const Verdict other_nan = with("__int_as_float(0x7fc01234)");
  EXPECT_TRUE(other_nan.passed) << (other_nan.failure ? other_nan.failure->message : "");
  EXPECT_FALSE(with("0.0f").passed);
}

TEST_F(PipelineTest, ATrialChecksItsProblemAndTimesIt) {
  const Verdict verdict = judge(job_of(starter("rmsnorm"), "M=8,N=64", Depth::kTrial));
  EXPECT_TRUE(verdict.passed);
  EXPECT_THAT(verdict.stages, Contains(Pair("smoke", HasSubstr("SKIP"))));
  EXPECT_THAT(verdict.stages, Contains(Pair("shape_sweep", "PASS")));
  EXPECT_FALSE(verdict.stages.contains("determinism"));
  EXPECT_EQ(verdict.timings.size(), 1u);
}

TEST_F(PipelineTest, AnIncumbentIsTimedInPairedRounds) {
  Job job = job_of(starter("rmsnorm"), "M=8,N=64", Depth::kTrial);
  job.incumbent = CandidateText{"old.cu", job.candidate.text, {{{"THREADS", std::int64_t{32}}}}};
  const Verdict verdict = judge(job);
  ASSERT_TRUE(verdict.passed);
  const Timing& timing = verdict.timings.at(0);
  ASSERT_TRUE(timing.versus);
  EXPECT_GT(timing.versus->ratio, 0);
  EXPECT_EQ(timing.rounds_us.size(), timing.incumbent_rounds_us.size());
  EXPECT_GE(timing.rounds_us.size(), 5u);
}

/// One truth serves all sets of a round, and is computed anew for each group of rounds.
TEST_F(PipelineTest, WhereTheTruthOfEverySetDoesNotFitTimedRoundsAreStillCompared) {
  const Job job = job_of(starter("rmsnorm"), "M=8,N=64", Depth::kTrial);
  SmallMemoryDevice large(*device_, std::uint64_t{1} << 40), small(*device_, 1);
  const Verdict with_all = judge_on(large, job), with_one = judge_on(small, job);
  ASSERT_TRUE(with_all.passed);
  ASSERT_TRUE(with_one.passed) << with_one.failure->message;
  EXPECT_EQ(with_one.timings.size(), 1u);
  EXPECT_GT(large.back_to_back(), 0u);
  EXPECT_EQ(small.back_to_back(), 0u);
  // Right until it has been launched more often than the checks before the timed rounds do.
  std::string text = starter("rmsnorm");
  const std::size_t brace = text.find('{', text.find("__global__"));
  text.insert(brace + 1,
              "\n  if (threadIdx.x == 0 && blockIdx.x == 0) ++launches;\n  if (launches > 24) return;\n");
  text.insert(text.find("extern \"C\""), "__device__ int launches;\n");
  Job cheat = job_of(text, "M=8,N=64", Depth::kTrial);
  auto checks = CheckSet::without({"audit.state"});
  ASSERT_TRUE(checks);
  const Verdict caught = judge_on(small, cheat, *checks);
  ASSERT_FALSE(caught.passed);
  EXPECT_EQ(caught.failure->check, "time.rotate") << caught.failure->message;
}

TEST_F(PipelineTest, SweepProblemsAreCheckedAndNotTimed) {
  Job job = job_of(starter("rmsnorm"), "M=8,N=64", Depth::kTrial);
  job.target.problems[0].role = Role::kSweep;
  const Verdict verdict = judge(job);
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.timings.empty());
  EXPECT_THAT(verdict.stages, Contains(Pair("time", HasSubstr("SKIP"))));
}

/// The starter of rmsnorm with one piece of text replaced.
std::string broken(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return std::string(text).replace(at, from.size(), to);
}

TEST_F(PipelineTest, AWrongKernelStopsAtTheFirstStageThatSeesIt) {
  const Verdict verdict = judge(job_of(broken(starter("rmsnorm"), "* rstd", "* rstd * 1.001f"), "M=8,N=64"));
  EXPECT_FALSE(verdict.passed);
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->stage, Stage::kSmoke);
  EXPECT_EQ(verdict.failure->kind, FailureKind::kWrong);
  EXPECT_THAT(verdict.stages, Contains(Pair("smoke", "FAIL")));
  EXPECT_FALSE(verdict.stages.contains("shape_sweep"));
}

TEST_F(PipelineTest, AKernelThatIsWrongAtItsOwnProblemOnlyIsFoundThere) {
  const Verdict verdict = judge(
      job_of(broken(starter("rmsnorm"), "* rstd", "* (N == 48 && gridDim.x == 9 ? 0.99f : 1.0f) * rstd"),
             "M=9,N=48"));
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->stage, Stage::kShapeSweep);
  EXPECT_EQ(verdict.failure->check, "shape.timed");
}

TEST_F(PipelineTest, AKernelThatIsWrongAtShapesItDoesNotExpectIsFoundByHiddenOnes) {
  const Verdict verdict = judge(job_of(
      broken(starter("rmsnorm"), "* rstd", "* (N % 8 ? 0.99f : 1.0f) * rstd"), "M=8,N=64", Depth::kTrial));
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->check, "shape.hidden");
}

TEST_F(PipelineTest, AnOverrunNamesTheTensor) {
  const std::string beyond =
      broken(starter("rmsnorm"), "  const float rstd",
             "  if (row + N == (long long)gridDim.x * N) y[row + N] = y[row];\n  const float rstd");
  const Verdict verdict = judge(job_of(beyond, "M=8,N=64"));
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->kind, FailureKind::kOutOfBounds);
  EXPECT_THAT(verdict.failure->message, HasSubstr("`y`"));
}

TEST_F(PipelineTest, AKernelThatIgnoresAScalarIsFound) {
  const Verdict verdict = judge(job_of(broken(starter("rmsnorm"), "N + eps", "N + 1e-6f"), "M=8,N=64"));
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->check, "shape.hidden");
}

TEST_F(PipelineTest, ALineOfTheKernelIsNamedWhenItDoesNotCompile) {
  const Verdict verdict =
      judge(job_of(broken(starter("rmsnorm"), "const int lane", "const nonsense lane"), "M=8,N=64"));
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->kind, FailureKind::kCompile);
  EXPECT_EQ(verdict.failure->stage, Stage::kCompile);
  EXPECT_THAT(verdict.failure->message, HasSubstr("kernel.cu:20:9: error"));
}

TEST_F(PipelineTest, AProblemThatTheCandidateCannotRunIsAnInvalidConfig) {
  const Verdict verdict = judge(
      job_of(broken(starter("rmsnorm"), "[defaults]", "[constraints]\nneeds = [\"N % 7 == 0\"]\n[defaults]"),
             "M=8,N=64"));
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->kind, FailureKind::kInvalidConfig);
  EXPECT_THAT(verdict.failure->message, HasSubstr("N % 7 == 0"));
}

TEST_F(PipelineTest, AVerdictWithoutAllChecksSaysSo) {
  const Verdict verdict =
      judge(job_of(starter("rmsnorm"), "M=8,N=64", Depth::kSmoke), *CheckSet::without({"numeric"}));
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.selftest);
}

TEST_F(PipelineTest, ACheckThatIsOffDoesNotFire) {
  const std::string wrong = broken(starter("rmsnorm"), "* rstd", "* rstd * 1.001f");
  EXPECT_FALSE(judge(job_of(wrong, "M=8,N=64", Depth::kSmoke)).passed);
  EXPECT_TRUE(judge(job_of(wrong, "M=8,N=64", Depth::kSmoke), *CheckSet::without({"numeric"})).passed);
}

TEST_F(PipelineTest, TheSameSeedGivesTheSameErrorAndAnotherSeedOtherInputs) {
  Job job = job_of(starter("rmsnorm"), "M=8,N=64", Depth::kSmoke);
  const double first = judge(job).worst_error;
  EXPECT_EQ(judge(job).worst_error, first);
  job.seed = 100;
  EXPECT_NE(judge(job).worst_error, first);
}

TEST_F(PipelineTest, AnUnknownOpIsAnErrorOfTheUser) {
  SystemClock clock;
  Harness harness(*device_, *compiler_, *registry_, CheckSet::all(), clock);
  Job job;
  job.target.op = "nothing";
  auto verdict = harness.judge(job);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::kUsage);
}

TEST_F(PipelineTest, ATargetWithoutProblemsIsAnErrorOfTheUser) {
  SystemClock clock;
  Harness harness(*device_, *compiler_, *registry_, CheckSet::all(), clock);
  Job job = job_of(starter("rmsnorm"), "M=8,N=64");
  job.target.problems.clear();
  auto verdict = harness.judge(job);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace ak::harness
