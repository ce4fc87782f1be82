// Candidates that are wrong or hostile, one file each, judged by one worker of the real binary. The head of a
// file says what it does, what must be said of it (`expect: kind check`, several checks with `|`), and on
// which dims. After each, an honest kernel must still pass in the same worker.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "autokernel/base/file.h"
#include "autokernel/harness/harness.h"
#include "autokernel/op/target_file.h"
#include "autokernel/worker/pool.h"

namespace ak {
namespace {

namespace fs = std::filesystem;

struct Hostile {
  std::string name;
  std::string kind;
  std::vector<std::string> checks;
  harness::Job job;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// The value of a line `// key: value`.
std::string head_of(const std::string& text, const std::string& key) {
  const std::string start = "// " + key + ": ";
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(start)) return line.substr(start.size());
  }
  ADD_FAILURE() << "no line `" << start << "`";
  return "";
}

std::vector<std::string> file_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(AK_SOURCE_DIR "/tests/hostile")) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class HostileTest : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);
    cache_ = new Result<TempDir>(TempDir::create("ak-hostile"));
    ASSERT_TRUE(*cache_);
    ::setenv("AUTOKERNEL_CACHE", (*cache_)->path().c_str(), 1);
    auto registry = op::Registry::create(op::embedded_families(), {});
    ASSERT_TRUE(registry) << registry.error().message;
    registry_ = new op::Registry(std::move(*registry));
    auto pool = worker::Pool::start({.command = {AK_BINARY, "worker", "--device", "cpu"}, .compilers = 2});
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = pool->release();
    cases_ = new std::map<std::string, Hostile>();
    for (const std::string& name : file_names()) cases_->emplace(name, load(name));
  }
  static void TearDownTestSuite() {
    delete pool_;
    delete cases_;
    delete registry_;
    delete cache_;
  }

  static harness::Job job_of(const std::string& path, const std::string& dims) {
    harness::Job job;
    auto file = kernel::load(path);
    EXPECT_TRUE(file) << file.error().message;
    auto family = registry_->find(file->op);
    EXPECT_TRUE(family) << file->op;
    auto size = op::parse_size(**family, dims);
    EXPECT_TRUE(size) << size.error().message;
    auto problem = op::make_problem(**family, *size, file->dtypes.front());
    EXPECT_TRUE(problem) << problem.error().message;
    job.target.op = file->op;
    job.target.problems.push_back({.id = "p0", .problem = *problem});
    job.candidate = {file->name, file->text, file->defaults};
    job.seed = 20240607;
    job.time_budget_s = 0.02;
    return job;
  }
  static Hostile load(const std::string& name) {
    const std::string path = AK_SOURCE_DIR "/tests/hostile/" + name + ".cu";
    auto text = read_file(path);
    EXPECT_TRUE(text);
    const std::vector<std::string> expect = split(head_of(*text, "expect"), ' ');
    EXPECT_EQ(expect.size(), 2u) << name;
    return {name, expect.at(0), split(expect.at(1), '|'), job_of(path, head_of(*text, "dims"))};
  }
  static std::vector<Source> sources(const harness::Job& job) {
    auto made = harness::sources_of(job, *registry_, pool_->hello().device);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : std::vector<Source>();
  }
  static void compile_ahead(const std::string& name);
  static Verdict judge(const harness::Job& job) {
    auto verdict = pool_->compile_and_judge(job, sources(job), worker::Freshness::kReuse);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict ? *verdict : Verdict{};
  }

  static Result<TempDir>* cache_;
  static op::Registry* registry_;
  static worker::Pool* pool_;
  static std::map<std::string, Hostile>* cases_;
};

Result<TempDir>* HostileTest::cache_ = nullptr;
op::Registry* HostileTest::registry_ = nullptr;
worker::Pool* HostileTest::pool_ = nullptr;
std::map<std::string, Hostile>* HostileTest::cases_ = nullptr;

/// While a candidate is judged, the next ones compile.
void HostileTest::compile_ahead(const std::string& name) {
  auto each = cases_->find(name);
  for (int i = 0; i < 3 && each != cases_->end(); ++i, ++each) {
    for (const Source& source : sources(each->second.job)) (void)pool_->compile(source);
  }
}

TEST_P(HostileTest, IsRejectedForWhatItDoesAndTheNextCandidatePasses) {
  const Hostile& hostile = cases_->at(GetParam());
  compile_ahead(GetParam());
  const Verdict verdict = judge(hostile.job);
  EXPECT_FALSE(verdict.passed);
  EXPECT_TRUE(verdict.timings.empty());
  EXPECT_TRUE(verdict.failure);
  if (verdict.failure) {
    EXPECT_EQ(name(verdict.failure->kind), hostile.kind) << verdict.failure->message;
    EXPECT_THAT(hostile.checks, testing::Contains(verdict.failure->check)) << verdict.failure->message;
    EXPECT_FALSE(verdict.failure->message.empty());
    EXPECT_EQ(verdict.stages.at(std::string(name(verdict.failure->stage))), "FAIL");
  }
  harness::Job honest = job_of(AK_SOURCE_DIR "/ops/rmsnorm/kernels/starter.cu", "M=2,N=64");
  honest.depth = harness::Depth::kSmoke;
  const Verdict next = judge(honest);
  EXPECT_TRUE(next.passed) << (next.failure ? next.failure->message : "");
}

INSTANTIATE_TEST_SUITE_P(Candidate, HostileTest, testing::ValuesIn(file_names()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace ak
