// PyTorch's times of a campaign, with a script in the place of Python.

#include "autokernel/campaign/torch_times.h"

#include <gtest/gtest.h>

#include <fstream>

#include "fixture.h"

namespace ak::campaign {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(TorchBudget, IsAQuarterOfTheCampaignAndAtMostAMinuteATarget) {
  EXPECT_EQ(torch_budget(seconds(600), 5).all, seconds(150));
  EXPECT_EQ(torch_budget(seconds(600), 5).target, minutes(1));
  EXPECT_EQ(torch_budget(seconds(7200), 2).all, minutes(2));
  EXPECT_EQ(torch_budget(seconds(40), 5).all, seconds(10));
  EXPECT_EQ(torch_budget(seconds(40), 5).target, seconds(10));
  EXPECT_EQ(torch_budget(std::nullopt, 3).all, minutes(3));
}

class TorchTimesTest : public CampaignTest {
 protected:
  /// An interpreter that counts its starts and answers for the first two problems.
  std::string python() {
    const std::filesystem::path path = folder_->path() / "python";
    std::ofstream(path) << "#!/bin/sh\ncat > /dev/null\necho >> " << (folder_->path() / "starts").string()
                        << "\necho '{\"torch\": \"2.11.0\", \"device\": \"cpu\"}'\n"
                        << "echo '{\"id\": \"0\", \"times\": {\"eager\": 30.0}, \"errors\": {}}'\n"
                        << "echo '{\"id\": \"1\", \"times\": {\"eager\": 20.0}, \"errors\": {}}'\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  std::size_t starts() const { return read_file(folder_->path() / "starts").value_or("").size(); }
};

TEST_F(TorchTimesTest, AreMeasuredOnceAndKeptInTheLedger) {
  auto ws = workspace();
  const torch::Baselines baselines({.python = python(), .cache = folder_->path() / "cache"},
                                   pool_->hello().device);
  Parts with = parts(ws);
  with.baselines = &baselines;
  const Target target = request("random", 1).target;
  const std::string device = pool_->hello().device.uuid;
  EXPECT_TRUE(torch_times(ws.ledger(), target.id, device)->empty());

  measure_torch_times(with, {&target}, torch_budget(seconds(40), 1), stop_);  // no time for torch.compile
  EXPECT_EQ(starts(), 1u);
  auto times = torch_times(ws.ledger(), target.id, device);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_DOUBLE_EQ(times->at("p0").times_us.at("eager"), 30);
  EXPECT_DOUBLE_EQ(times->at("p1").times_us.at("eager"), 20);
  EXPECT_TRUE(torch_times(ws.ledger(), target.id, "another device")->empty());

  measure_torch_times(with, {&target}, torch_budget(seconds(40), 1), stop_);
  EXPECT_EQ(starts(), 1u);  // known
  measure_torch_times(with, {&target}, torch_budget(seconds(400), 1), stop_);
  EXPECT_EQ(starts(), 2u);  // torch.compile, in a child of its own
  measure_torch_times(with, {&target}, torch_budget(seconds(400), 1), stop_);
  EXPECT_EQ(starts(), 2u);
}

TEST_F(TorchTimesTest, WhatWasNotReadyInTimeIsNotTriedAgainUntilTheTimeIsTwiceAsLong) {
  auto ws = workspace();
  const std::filesystem::path path = folder_->path() / "python";
  // Eager answers at once, torch.compile never does.
  std::ofstream(path) << "#!/bin/sh\nrequest=$(cat)\necho >> " << (folder_->path() / "starts").string()
                      << "\necho '{\"torch\": \"2.11.0\", \"device\": \"cpu\"}'\n"
                      << "case $request in *'\"compile\":true'*) sleep 1000;; esac\n"
                      << "echo '{\"id\": \"0\", \"times\": {\"eager\": 30.0}, \"errors\": {}}'\n"
                      << "echo '{\"id\": \"1\", \"times\": {\"eager\": 20.0}, \"errors\": {}}'\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const torch::Baselines baselines({.python = path.string(), .cache = folder_->path() / "cache"},
                                   pool_->hello().device);
  Parts with = parts(ws);
  with.baselines = &baselines;
  const Target target = request("random", 1).target;
  const TorchBudget tight{.all = seconds(100), .target = std::chrono::milliseconds(300), .least = seconds(0)};
  measure_torch_times(with, {&target}, tight, stop_);
  EXPECT_EQ(starts(), 2u);
  EXPECT_FALSE(torch_times(ws.ledger(), target.id, pool_->hello().device.uuid)->empty());
  measure_torch_times(with, {&target}, tight, stop_);
  EXPECT_EQ(starts(), 2u);
  TorchBudget longer = tight;
  longer.target *= 2;
  measure_torch_times(with, {&target}, longer, stop_);
  EXPECT_EQ(starts(), 3u);
}

TEST_F(TorchTimesTest, WithoutPyTorchTheCampaignGoesOn) {
  auto ws = workspace();
  const torch::Baselines baselines({.python = "/nonexistent/python", .cache = folder_->path() / "cache"},
                                   pool_->hello().device);
  Parts with = parts(ws);
  with.baselines = &baselines;
  const Target target = request("random", 1).target;
  measure_torch_times(with, {&target}, torch_budget(seconds(400), 1), stop_);
  EXPECT_TRUE(torch_times(ws.ledger(), target.id, pool_->hello().device.uuid)->empty());
}

}  // namespace
}  // namespace ak::campaign
