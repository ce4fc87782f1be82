#include "autokernel/harness/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"

namespace ak::harness {
namespace {

using ::testing::HasSubstr;

Job sample() {
  Job job;
  job.target.id = "t";
  job.target.op = "rmsnorm";
  Problem problem{
      .op = "rmsnorm", .dims = {{"M", 4}, {"N", 64}}, .scalars = {{"eps", 1e-6}}, .dtype = DType::kF16};
  job.target.problems = {{.id = "p0", .problem = problem, .calls = 9, .role = Role::kSweep}};
  job.candidate = {
      "k.cu", "text", {{{"THREADS", std::int64_t{32}}, {"FAST", true}, {"MODE", std::string("a")}}}};
  job.depth = Depth::kTrial;
  job.seed = 0xfedcba9876543210;
  job.time_budget_s = 0.12;
  return job;
}

TEST(Job, SurvivesTheWire) {
  Job job = sample();
  job.incumbent = CandidateText{"old.cu", "old text", {}};
  Result<Job> read = job_from_json(to_json(job), "job");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(job));
  EXPECT_EQ(read->seed, 0xfedcba9876543210);
  EXPECT_EQ(read->depth, Depth::kTrial);
  EXPECT_EQ(read->candidate.config, job.candidate.config);
  EXPECT_EQ(read->target.problems[0].problem, job.target.problems[0].problem);
  EXPECT_EQ(read->target.problems[0].role, Role::kSweep);
  EXPECT_EQ(read->incumbent->text, "old text");
}

TEST(Job, WithoutAnIncumbentThereIsNone) {
  Result<Job> read = job_from_json(to_json(sample()), "job");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->incumbent);
}

TEST(Job, WrongFieldsAreRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"depth", "\"deep\""},
      {"depth", "3"},
      {"seed", "\"\""},
      {"seed", "\"0x1f\""},
      {"seed", "\"FF\""},
      {"seed", "17"},
      {"seed", "\"12345678901234567\""},
      {"time_budget_s", "0"},
      {"time_budget_s", "-1"},
      {"time_budget_s", "601"},
      {"time_budget_s", "\"nan\""},
      {"time_budget_s", "\"inf\""},
      {"candidate", "\"text\""},
      {"incumbent", "[]"},
      {"target", "null"},
  };
  for (const auto& [field, value] : cases) {
    Json json = to_json(sample());
    json[field] = Json::parse(value);
    Result<Job> read = job_from_json(json, "job");
    ASSERT_FALSE(read) << field << " = " << value;
    EXPECT_THAT(read.error().message, HasSubstr(field)) << value;
  }
}

TEST(Job, MissingFieldsAreRefused) {
  for (const char* field : {"target", "candidate", "depth", "seed", "time_budget_s"}) {
    Json json = to_json(sample());
    json.erase(field);
    EXPECT_FALSE(job_from_json(json, "job")) << field;
  }
}

TEST(Job, TheFuzzCorpusHoldsOneThatIsRead) {
  auto text = read_file(AK_SOURCE_DIR "/tests/fuzz/corpus/job/full.json");
  ASSERT_TRUE(text);
  Result<Job> read = job_from_json(Json::parse(*text), "job");
  EXPECT_TRUE(read) << read.error().message;
}

}  // namespace
}  // namespace ak::harness
