// No field of a message is trusted: each field of each record, removed or of another type, is an error that
// names it, never a crash or a silent default.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "autokernel/core/binary.h"
#include "records.h"

namespace ak {
namespace {

using namespace ak::testing;

template <class T>
using Codec = Result<T> (*)(const Json&, const std::string&);

/// Written for readers and not read, or null when absent.
const std::set<std::string> kMayBeMissing = {
    "speedup_vs_pytorch", "failure",     "time_us",     "versus",       "cold_us",
    "floor_us",           "baseline_us", "best_config", "confirmation", "max_registers"};

template <class T>
void expect_every_field_to_be_checked(const T& value, Codec<T> codec) {
  const Json json = to_json(value);
  for (const auto& member : json.items()) {
    if (member.key() == "speedup_vs_pytorch") continue;
    Json edited = json;
    // No field is an array of arrays.
    edited[member.key()] = Json::array({Json::array({Json::array()})});
    const Result<T> result = codec(edited, "value");
    ASSERT_FALSE(result) << member.key();
    EXPECT_NE(result.error().message.find(member.key()), std::string::npos) << result.error().message;
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    if (kMayBeMissing.contains(member.key())) continue;
    edited = json;
    edited.erase(member.key());
    EXPECT_FALSE(codec(edited, "value")) << member.key();
  }
}

TEST(HostileJson, EveryFieldOfEveryRecordIsCheckedForItsType) {
  expect_every_field_to_be_checked(device_sample(), device_info_from_json);
  expect_every_field_to_be_checked(timing_sample(), timing_from_json);
  expect_every_field_to_be_checked(verdict_sample(), verdict_from_json);
  Trial trial = trial_sample();
  expect_every_field_to_be_checked(trial, trial_from_json);
  expect_every_field_to_be_checked(experiment_sample(), experiment_from_json);
  expect_every_field_to_be_checked(timing_sample().problem, problem_from_json);
  expect_every_field_to_be_checked(timing_sample().time, time_estimate_from_json);
  expect_every_field_to_be_checked(*timing_sample().versus, comparison_from_json);
  expect_every_field_to_be_checked(*verdict_sample().failure, failure_from_json);
  expect_every_field_to_be_checked(Source{}, source_from_json);
  expect_every_field_to_be_checked(Binary{}, binary_from_json);
  expect_every_field_to_be_checked(Target{}, target_from_json);
}

TEST(HostileJson, WhatIsNoObjectIsRefusedByEveryCodec) {
  for (const char* text : {"null", "3", "\"text\"", "[]", "true"}) {
    const Json json = Json::parse(text);
    EXPECT_FALSE(verdict_from_json(json, "v")) << text;
    EXPECT_FALSE(trial_from_json(json, "v")) << text;
    EXPECT_FALSE(experiment_from_json(json, "v")) << text;
    EXPECT_FALSE(device_info_from_json(json, "v")) << text;
    EXPECT_FALSE(source_from_json(json, "v")) << text;
    EXPECT_FALSE(binary_from_json(json, "v")) << text;
    EXPECT_FALSE(target_from_json(json, "v")) << text;
    EXPECT_FALSE(config_from_json(json, "v")) << text;
  }
}

TEST(HostileJson, ElementsOfArraysAndMapsAreChecked) {
  Json json = to_json(timing_sample());
  json["rounds_us"] = {1.0, "fast"};
  EXPECT_EQ(timing_from_json(json, "t").error().message, "t.rounds_us[1]: expected a number, found \"fast\"");
  json = to_json(timing_sample());
  json["strides"]["x"] = {1, nullptr};
  EXPECT_FALSE(timing_from_json(json, "t"));
  json = to_json(verdict_sample());
  json["stages"]["smoke"] = 1;
  EXPECT_FALSE(verdict_from_json(json, "t"));
}

TEST(HostileJson, NumbersOutOfRangeAreRefused) {
  for (const Json& value : {Json(-1), Json(4294967296), Json(1.5), Json(18446744073709551615u)}) {
    Json json = to_json(device_sample());
    json["warp_size"] = value;
    EXPECT_FALSE(device_info_from_json(json, "d")) << value;
  }
  Json json = to_json(device_sample());
  json["l2_bytes"] = -1;
  EXPECT_FALSE(device_info_from_json(json, "d"));
}

TEST(HostileJson, UnknownNamesOfEnumerationsAreRefused) {
  Json json = to_json(*verdict_sample().failure);
  json["kind"] = "slow";
  EXPECT_EQ(failure_from_json(json, "failure").error().message,
            "failure.kind: expected a known name, found slow");
  json = to_json(verdict_sample());
  json["correctness"] = "pass";
  EXPECT_FALSE(verdict_from_json(json, "v"));
}

TEST(HostileJson, UnknownFieldsAreIgnored) {
  Json json = to_json(trial_sample());
  json["from_the_future"] = {1, 2, 3};
  EXPECT_TRUE(trial_from_json(json, "trial"));
}

}  // namespace
}  // namespace ak
