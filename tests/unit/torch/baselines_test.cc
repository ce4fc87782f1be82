// The parent's side of PyTorch's baselines, with a script in the place of Python.

#include "autokernel/torch/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"

namespace ak::torch {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class BaselinesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("ak-baselines");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    auto registry = op::Registry::create(op::embedded_families(), {});
    ASSERT_TRUE(registry) << registry.error().message;
    registry_ = std::make_unique<op::Registry>(std::move(*registry));
  }
  /// An interpreter that keeps its request and prints `answer`.
  std::string python(const std::string& answer, const std::string& then = "") {
    const fs::path path = folder_->path() / "python";
    std::ofstream(path) << "#!/bin/sh\ncat > " << (folder_->path() / "request").string()
                        << "\necho \"$CUDA_VISIBLE_DEVICES\" > " << (folder_->path() / "visible").string()
                        << "\ncat <<'END'\n"
                        << answer << "\nEND\n"
                        << then << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  Baselines baselines(const std::string& answer, const std::string& then = "") {
    DeviceInfo device;
    device.kind = "cuda";
    device.uuid = "GPU-1";
    device.name = "NVIDIA H200";
    device.l2_bytes = 1 << 20;
    return Baselines({.python = python(answer, then), .cache = folder_->path() / "cache"}, device);
  }
  BaselineRequest request(const std::string& op, const std::string& size, DType dtype) {
    const op::Family& family = **registry_->find(op);
    return {&family, *op::make_problem(family, *op::parse_size(family, size), dtype)};
  }

  std::unique_ptr<TempDir> folder_;
  std::unique_ptr<op::Registry> registry_;
};

const char* kAnswer =
    R"({"torch": "2.11.0", "cuda": "13.0", "device": "NVIDIA H200", "python": "/usr/bin/python3"}
{"id": "0", "times": {"eager": 30.0, "fused": 10.5}, "errors": {"compile": "RuntimeError: no triton"}})";

TEST_F(BaselinesTest, TheFastestPathIsNamedAndWhatFailedIsKept) {
  auto measured = baselines(kAnswer).measure({request("rmsnorm", "M=4,N=8", DType::kF16)});
  ASSERT_TRUE(measured) << measured.error().message;
  const Baseline& baseline = measured->front();
  EXPECT_EQ(baseline.fastest(), "fused");
  EXPECT_DOUBLE_EQ(baseline.times_us.at("fused"), 10.5);
  EXPECT_THAT(baseline.errors.at("compile"), HasSubstr("no triton"));
  EXPECT_EQ(baseline.torch_version, "2.11.0");
  auto sent = read_file(folder_->path() / "request");
  ASSERT_TRUE(sent);
  const Json json = Json::parse(*sent);
  EXPECT_EQ(json["device"], "cuda");
  EXPECT_EQ(json["problems"][0]["inputs"][0]["shape"], Json::array({4, 8}));
  EXPECT_EQ(json["problems"][0]["inputs"][0]["dtype"], "f16");
  EXPECT_THAT(json["problems"][0]["torch_py"].get<std::string>(), HasSubstr("def fused"));
}

TEST_F(BaselinesTest, WhatWasMeasuredIsNotMeasuredAgain) {
  const Baselines known = baselines(kAnswer);
  const BaselineRequest wanted = request("rmsnorm", "M=4,N=8", DType::kF16);
  EXPECT_FALSE(known.find(*wanted.family, wanted.problem)->has_value());
  ASSERT_TRUE(known.measure({wanted}));
  fs::remove(folder_->path() / "request");
  ASSERT_TRUE(known.measure({wanted}));
  EXPECT_FALSE(fs::exists(folder_->path() / "request"));
  EXPECT_EQ((*known.find(*wanted.family, wanted.problem))->fastest(), "fused");
  const BaselineRequest other = request("rmsnorm", "M=4,N=9", DType::kF16);
  EXPECT_FALSE(known.find(*other.family, other.problem)->has_value());
}

TEST_F(BaselinesTest, WhatIsReadyByTheDeadlineIsKept) {
  const Baselines slow = baselines(kAnswer, "sleep 100");  // torch.compile of the second problem
  const std::vector<BaselineRequest> wanted = {request("rmsnorm", "M=4,N=8", DType::kF16),
                                               request("rmsnorm", "M=4,N=9", DType::kF16)};
  auto some = slow.measure_within(wanted, Paths::kAll, std::chrono::milliseconds(500));
  ASSERT_TRUE(some) << some.error().message;
  ASSERT_TRUE(some->at(0));
  EXPECT_EQ(some->at(0)->fastest(), "fused");
  EXPECT_FALSE(some->at(1));
  EXPECT_TRUE(slow.find(*wanted[0].family, wanted[0].problem)->has_value());
}

TEST_F(BaselinesTest, TheEagerPathsStandUntilAllAreKnown) {
  const BaselineRequest wanted = request("rmsnorm", "M=4,N=8", DType::kF16);
  const char* eager = R"({"torch": "2.11.0", "device": "NVIDIA H200"}
{"id": "0", "times": {"eager": 30.0}, "errors": {}})";
  const Baselines known = baselines(eager);
  ASSERT_TRUE(known.measure_within({wanted}, Paths::kEager, std::chrono::seconds(10)));
  EXPECT_EQ(Json::parse(*read_file(folder_->path() / "request"))["compile"], false);
  EXPECT_EQ((*known.find(*wanted.family, wanted.problem))->fastest(), "eager");
  python(kAnswer);
  ASSERT_TRUE(known.measure_within({wanted}, Paths::kAll, std::chrono::seconds(10)));
  EXPECT_EQ(Json::parse(*read_file(folder_->path() / "request"))["compile"], true);
  EXPECT_EQ((*known.find(*wanted.family, wanted.problem))->fastest(), "fused");
}

TEST_F(BaselinesTest, PyTorchOnAnotherGpuIsAnError) {
  auto measured = baselines(R"({"torch": "2.11.0", "device": "NVIDIA A100"}
{"id": "0", "times": {"eager": 30.0}, "errors": {}})")
                      .measure({request("rmsnorm", "M=4,N=8", DType::kF16)});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(measured.error().message, HasSubstr("two devices"));
}

TEST_F(BaselinesTest, PyTorchSeesTheGpuThatKernelsRunOn) {
  const char* before = std::getenv("CUDA_VISIBLE_DEVICES");
  if (before != nullptr) GTEST_SKIP() << "CUDA_VISIBLE_DEVICES is set here";
  ASSERT_TRUE(baselines(kAnswer).measure({request("rmsnorm", "M=4,N=8", DType::kF16)}));
  EXPECT_EQ(read_file(folder_->path() / "visible").value_or(""), "GPU-1\n");
}

TEST_F(BaselinesTest, NoPyTorchIsAnErrorOfTheEnvironment) {
  auto measured = baselines(R"({"error": "no PyTorch in /usr/bin/python3: No module named 'torch'"})")
                      .measure({request("rmsnorm", "M=4,N=8", DType::kF16)});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(measured.error().message, HasSubstr("no PyTorch in"));
}

TEST_F(BaselinesTest, AChildThatEndsEarlyOrSaysRubbishIsAnError) {
  for (const char* answer : {"", "not json", R"({"torch": "2.11.0"})"}) {
    auto measured = baselines(answer).measure({request("rmsnorm", "M=4,N=8", DType::kF16)});
    ASSERT_FALSE(measured) << answer;
  }
}

TEST_F(BaselinesTest, AMissingInterpreterIsNamed) {
  const Baselines missing({.python = "/nonexistent/python", .cache = folder_->path() / "cache"},
                          DeviceInfo{});
  auto measured = missing.measure({request("rmsnorm", "M=4,N=8", DType::kF16)});
  ASSERT_FALSE(measured);
  EXPECT_THAT(measured.error().message, HasSubstr("/nonexistent/python"));
}

TEST_F(BaselinesTest, ADamagedCacheIsMeasuredAgain) {
  const Baselines known = baselines(kAnswer);
  const BaselineRequest wanted = request("rmsnorm", "M=4,N=8", DType::kF16);
  ASSERT_TRUE(known.measure({wanted}));
  for (const auto& file : fs::directory_iterator(folder_->path() / "cache" / "baselines"))
    std::ofstream(file.path()) << "{";
  EXPECT_FALSE(known.find(*wanted.family, wanted.problem)->has_value());
  EXPECT_TRUE(known.measure({wanted}));
}

TEST_F(BaselinesTest, IntegerTensorsGetTheirRange) {
  auto family = registry_->find("cross_entropy");
  if (!family) GTEST_SKIP() << "the family is not in this build";
  ASSERT_TRUE(baselines(kAnswer).measure({request("cross_entropy", "ROWS=4,V=100", DType::kF16)}));
  const Json json = Json::parse(*read_file(folder_->path() / "request"));
  const Json& targets = json["problems"][0]["inputs"][1];
  EXPECT_EQ(targets["dtype"], "i64");
  EXPECT_EQ(targets["low"], 0);
  EXPECT_EQ(targets["high"], 100);
  EXPECT_TRUE(json["problems"][0]["scalars"]["IGNORE"].is_number_integer());  // PyTorch takes no float there
}

}  // namespace
}  // namespace ak::torch
