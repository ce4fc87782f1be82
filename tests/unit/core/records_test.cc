#include "records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ak {
namespace {

using namespace ak::testing;

/// Through text, as on the wire and in the ledger.
template <class T>
Json again(const T& value, Result<T> (*codec)(const Json&, const std::string&)) {
  const Json json = Json::parse(to_json(value).dump());
  const Result<T> back = codec(json, "value");
  EXPECT_TRUE(back) << back.error().message;
  return back ? to_json(*back) : Json();
}

TEST(Records, RoundTripWithEveryFieldSet) {
  EXPECT_EQ(again(device_sample(), device_info_from_json), to_json(device_sample()));
  EXPECT_EQ(again(timing_sample(), timing_from_json), to_json(timing_sample()));
  EXPECT_EQ(again(verdict_sample(), verdict_from_json), to_json(verdict_sample()));
  EXPECT_EQ(again(trial_sample(), trial_from_json), to_json(trial_sample()));
  EXPECT_EQ(again(experiment_sample(), experiment_from_json), to_json(experiment_sample()));
  EXPECT_EQ(again(*verdict_sample().failure, failure_from_json), to_json(*verdict_sample().failure));
  EXPECT_EQ(again(*timing_sample().versus, comparison_from_json), to_json(*timing_sample().versus));
}

TEST(Records, RoundTripWithEveryOptionalFieldAbsent) {
  EXPECT_EQ(again(DeviceInfo{}, device_info_from_json), to_json(DeviceInfo{}));
  EXPECT_EQ(again(Timing{}, timing_from_json), to_json(Timing{}));
  EXPECT_EQ(again(Verdict{}, verdict_from_json), to_json(Verdict{}));
  EXPECT_EQ(again(Trial{}, trial_from_json), to_json(Trial{}));
  EXPECT_EQ(again(Experiment{}, experiment_from_json), to_json(Experiment{}));
}

// The comparison of JSON above would not see a field that neither direction knows.
TEST(Records, ReadFieldsArriveInTheValue) {
  const auto verdict = verdict_from_json(to_json(verdict_sample()), "verdict");
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->failure->kind, FailureKind::kWrong);
  EXPECT_EQ(verdict->stages, verdict_sample().stages);
  EXPECT_EQ(verdict->timings[0].problem, timing_sample().problem);
  EXPECT_EQ(verdict->timings[0].rounds_us, timing_sample().rounds_us);
  EXPECT_EQ(verdict->timings[0].versus->incumbent.ci_high_us, 16);
  EXPECT_EQ(verdict->device.max_grid, device_sample().max_grid);
  EXPECT_TRUE(verdict->selftest);
  EXPECT_FALSE(verdict->sandboxed);
  const auto experiment = experiment_from_json(to_json(experiment_sample()), "experiment");
  EXPECT_EQ(experiment->seed, experiment_sample().seed);
  EXPECT_EQ(experiment->decision, Decision::kKept);
}

TEST(Records, AVerdictHasTheKeysOfTheMachineReadableResults) {
  const Json json = to_json(verdict_sample());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["correctness"], "FAIL");
  EXPECT_EQ(json["sandbox"], "off");
  EXPECT_EQ(json["failure"]["check"], "numeric");
  const Json& timing = json["timings"][0];
  for (const char* key : {"size", "dims", "flags", "dtype", "time_us", "cold_us", "l2", "floor_us", "gbps",
                          "tflops", "speedup_vs_pytorch"}) {
    EXPECT_TRUE(timing.contains(key)) << key;
  }
  EXPECT_EQ(timing["speedup_vs_pytorch"], 2.0);
  EXPECT_TRUE(to_json(Verdict{})["failure"].is_null());
}

TEST(Records, TopLevelObjectsCarryTheSchema) {
  for (const Json& json : {to_json(device_sample()), to_json(verdict_sample()), to_json(trial_sample()),
                           to_json(experiment_sample())}) {
    EXPECT_EQ(json["schema"], 1);
  }
}

}  // namespace
}  // namespace ak
