// Whole verdicts on a GPU through a worker: faults have the right kind and harm nobody after them; a kernel
// is not faster than itself. Prints `key: value` lines that tools/gpu-check keeps. Skipped where no driver is
// at work.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/harness/harness.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/worker/pool.h"

namespace ak {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class GpuWorker : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);
    if (!cuda::driver_present()) return;
    const char* binary = std::getenv("AK_TEST_BINARY");
    auto registry = op::Registry::create(op::embedded_families(), {});
    ASSERT_TRUE(registry) << registry.error().message;
    registry_ = new op::Registry(std::move(*registry));
    auto pool = worker::Pool::start(
        {.command = {binary != nullptr ? binary : AK_BINARY, "worker", "--device", "cuda"}, .compilers = 4});
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = pool->release();
  }
  static void TearDownTestSuite() {
    delete pool_;
    delete registry_;
  }
  void SetUp() override {
    if (!cuda::driver_present()) GTEST_SKIP() << "no NVIDIA driver on this machine";
  }

  static harness::Job job_of(const std::string& path, const std::string& dims, DType dtype,
                             harness::Depth depth) {
    harness::Job job;
    auto file = kernel::load(std::string(AK_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(file) << file.error().message;
    auto family = registry_->find(file->op);
    auto size = op::parse_size(**family, dims);
    auto problem = op::make_problem(**family, *size, dtype);
    EXPECT_TRUE(problem) << problem.error().message;
    job.target.op = file->op;
    job.target.problems.push_back({.id = "p0", .problem = *problem});
    job.candidate = {file->name, file->text, file->defaults};
    job.depth = depth;
    job.seed = 20240607;
    return job;
  }
  static Verdict judge(const harness::Job& job) {
    auto sources = harness::sources_of(job, *registry_, pool_->hello().device);
    EXPECT_TRUE(sources) << sources.error().message;
    auto verdict = pool_->compile_and_judge(job, *sources, worker::Freshness::kReuse);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict ? *verdict : Verdict();
  }
  static harness::Job honest(harness::Depth depth = harness::Depth::kSmoke) {
    return job_of("ops/rmsnorm/kernels/starter.cu", "M=64,N=256", DType::kF32, depth);
  }

  static inline op::Registry* registry_ = nullptr;
  static inline worker::Pool* pool_ = nullptr;
};

constexpr const char* kHead =
    "/* autokernel\nop = \"rmsnorm\"\ndtypes = [\"f32\"]\n[[launch]]\nentry = \"rmsnorm\"\ngrid = [\"M\"]\n"
    "block = [\"32\"]\nargs = [\"x\", \"weight\", \"y\", \"N\"]\n*/\n"
    "extern \"C\" __global__ void rmsnorm(const float* x, const float* weight, float* y, int N) {\n";

TEST_F(GpuWorker, AFaultHasItsKindAndTheNextCandidateIsUnharmed) {
  const std::pair<const char*, FailureKind> faults[] = {
      {"y[(long long)N << 40] = 1;", FailureKind::kOutOfBounds},
      {"*(double*)((char*)y + 4) = 1;", FailureKind::kCrash},  // misaligned
      {"__trap();", FailureKind::kCrash},
      {"((float*)x)[0] = 1;", FailureKind::kOutOfBounds},
      {"while (((volatile float*)y)[0] != 12345.0f) { }", FailureKind::kTimeout},
  };
  ASSERT_TRUE(judge(honest()).passed);
  double slowest_s = 0;
  for (const auto& [statement, kind] : faults) {
    harness::Job job = honest();
    job.candidate = {"fault.cu", std::string(kHead) + statement + "\n}\n", {}};
    const Verdict verdict = judge(job);
    ASSERT_TRUE(verdict.failure) << statement;
    EXPECT_EQ(name(verdict.failure->kind), name(kind)) << statement << ": " << verdict.failure->message;
    const auto start = std::chrono::steady_clock::now();
    const Verdict next = judge(honest());
    slowest_s = std::max(slowest_s, seconds_since(start));
    EXPECT_TRUE(next.passed) << "after " << statement << ": " << (next.failure ? next.failure->message : "");
  }
  std::printf("fault_recovery_s: %.3f\n", slowest_s);
}

TEST_F(GpuWorker, AKernelIsNotFasterThanItself) {
  constexpr int kRuns = 200;
  harness::Job job =
      job_of("ops/rmsnorm/kernels/registers.cu", "M=4096,N=4096", DType::kBF16, harness::Depth::kTrial);
  job.incumbent = job.candidate;
  int faster = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) {
    job.seed = 1000 + static_cast<std::uint64_t>(i);
    const Verdict verdict = judge(job);
    ASSERT_TRUE(verdict.passed) << verdict.failure->message;
    ASSERT_EQ(verdict.timings.size(), 1u);
    faster += verdict.timings[0].versus->ci_low > 1.01 ? 1 : 0;
  }
  std::printf("aa_false_rate: %.4f\naa_trial_s: %.4f\n", static_cast<double>(faster) / kRuns,
              seconds_since(start) / kRuns);
  EXPECT_LE(faster, kRuns / 100);
}

TEST_F(GpuWorker, ASecondVerdictOfAMemoryBoundProblemPasses) {
  const harness::Job job =
      job_of("ops/rmsnorm/kernels/registers.cu", "M=4096,N=4096", DType::kBF16, harness::Depth::kFull);
  ASSERT_TRUE(judge(job).passed);
  const auto start = std::chrono::steady_clock::now();
  const Verdict verdict = judge(job);
  std::printf("warm_verdict_s: %.3f\n", seconds_since(start));
  ASSERT_TRUE(verdict.passed) << verdict.failure->message;
  EXPECT_EQ(verdict.timings.at(0).l2, CacheState::kCold);
  EXPECT_TRUE(verdict.timings.at(0).cold_us);
  EXPECT_TRUE(verdict.timings.at(0).floor_us);
}

}  // namespace
}  // namespace ak
