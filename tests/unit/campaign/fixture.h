#pragma once
// A small kernel with a family of its own, workers of the real binary, a workspace: what tests of the
// campaign run on.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"
#include "autokernel/campaign/tune.h"
#include "autokernel/op/target_file.h"

namespace ak::campaign {

/// rmsnorm under another name with few and small sizes: a family of the user's own, which travels to the
/// worker.
inline worker::FamilyFiles tiny_family() {
  worker::FamilyFiles family{"tinynorm", {}};
  for (const EmbeddedFile& file : op::embedded_families()) {
    if (!file.path.starts_with("rmsnorm/")) continue;
    std::string text(file.text);
    for (std::size_t at = 0; (at = text.find("op = \"rmsnorm\"")) != std::string::npos;) {
      text.replace(at, 14, "op = \"tinynorm\"");
    }
    if (file.path.ends_with("op.toml")) {
      text.replace(text.find("name = \"rmsnorm\""), 16, "name = \"tinynorm\"");
      const std::size_t begin = text.find("[sizes]"), end = text.find("[[draw]]");
      text.replace(begin, end - begin,
                   "[sizes]\nsmoke = [{ M = 2, N = 32 }]\nsweep = [{ M = 8, N = 48 }]\n"
                   "edge = [{ M = 1, N = 1 }]\nprimary = [{ M = 4, N = 64 }]\n");
    }
    family.files[std::string(file.path.substr(8))] = std::move(text);
  }
  return family;
}

inline constexpr char kKernel[] = R"cu(/* autokernel
op = "tinynorm"
dtypes = ["f32"]
[tunables]
LANES = [1, 2, 4, 8]
WORK = [0, 1, 2]
BAD = [false, true]
[constraints]
where = ["!BAD || LANES == 8"]
[defaults]
LANES = 1
WORK = 2
BAD = false
[[launch]]
entry = "norm"
grid = ["ceil_div(M, LANES)"]
block = ["LANES"]
args = ["x", "weight", "y", "M", "N", "eps"]
*/
extern "C" __global__ void norm(const float* x, const float* weight, float* y, int M, int N, float eps) {
  const int row = blockIdx.x * LANES + threadIdx.x;
  if (row >= M) return;
  float squares = 0;
  for (int pass = 0; pass < (WORK == 2 ? 60 : 1); ++pass) {
    float sum = 0;
    for (int i = 0; i < N; ++i) sum += x[row * N + i] * x[row * N + i];
    squares = sum + 0 * squares;
  }
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[row * N + i] = BAD ? 0 : x[row * N + i] * rstd * weight[i];
}
)cu";

class CampaignTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);
    cache_ = new Result<TempDir>(TempDir::create("ak-tune"));
    ASSERT_TRUE(*cache_);
    ::setenv("AUTOKERNEL_CACHE", (*cache_)->path().c_str(), 1);
    auto registry = op::Registry::create(op::embedded_families(), {});
    ASSERT_TRUE(registry);
    registry_ = new op::Registry(std::move(*registry));
    const worker::FamilyFiles family = tiny_family();
    std::vector<EmbeddedFile> files;
    for (const auto& [path, text] : family.files) files.push_back({path, text});
    auto loaded = op::load_family(family.name, files);
    ASSERT_TRUE(loaded) << loaded.error().message;
    registry_->add(std::move(*loaded));
    auto pool = worker::Pool::start(
        {.command = {AK_BINARY, "worker", "--device", "cpu"}, .compilers = 2, .families = {family}});
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = pool->release();
  }
  static void TearDownTestSuite() {
    delete pool_;
    delete registry_;
    delete cache_;
  }
  void SetUp() override {
    auto folder = TempDir::create("ak-tune-ws");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
  }

  static TuneRequest request(const std::string& strategy, std::size_t budget,
                             const std::string& kernel = kKernel) {
    const op::Family& family = **registry_->find("tinynorm");
    TuneRequest out;
    out.target.id = "norm";
    out.target.op = "tinynorm";
    for (const char* size : {"M=256,N=256", "M=255,N=257"}) {
      auto parsed = op::parse_size(family, size);
      out.target.problems.push_back({.id = fmt::format("p{}", out.target.problems.size()),
                                     .problem = *op::make_problem(family, *parsed, DType::kF32)});
    }
    out.target_toml = op::format_target(out.target);
    out.kernel_name = "norm.cu";
    out.kernel_text = kernel;
    out.strategy = strategy;
    out.budget.trials = budget;
    out.seed = 3;
    return out;
  }
  ledger::Workspace workspace() {
    auto made = ledger::Workspace::open(folder_->path() / "ws", clock_);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  Result<TuneResult> tune(ledger::Workspace& workspace, const TuneRequest& request,
                          const TuneObserver& observer = {}) {
    Tuner tuner(parts(workspace), stop_);
    return tuner.run(request, observer);
  }
  static std::size_t distinct_configs(const std::vector<Trial>& trials) {
    std::set<std::string> configs;
    for (const Trial& trial : trials) configs.insert(trial.config.to_string());
    return configs.size();
  }

  Parts parts(ledger::Workspace& workspace) { return {workspace, *pool_, *registry_, clock_, log_, "test"}; }

  inline static Result<TempDir>* cache_ = nullptr;
  inline static op::Registry* registry_ = nullptr;
  inline static worker::Pool* pool_ = nullptr;
  std::unique_ptr<TempDir> folder_;
  SystemClock clock_;
  Log log_{LogLevel::kQuiet};
  std::atomic<bool> stop_{false};
};

}  // namespace ak::campaign
