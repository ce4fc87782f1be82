#include "autokernel/device/cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "support/cpu_fixture.h"

namespace ak::cpu {
namespace {

using namespace std::chrono_literals;
using device::Access;
using device::BufferId;
using device::BufferRef;
using device::Guard;
using device::Launch;
using device::ModuleId;
using device::Trust;
using testing::HasSubstr;

using CpuDeviceTest = test::CpuFixture;

constexpr char kScale[] = R"(
static void scale(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * factor;
})";
const std::vector<test::HandmadeKernel> kScaleEntry = {{"scale", {"const float*", "float*", "int", "float"}}};

TEST_F(CpuDeviceTest, ACandidateComputesInItsJail) {
  const ModuleId module = load(kScale, kScaleEntry);
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), 0.f);
  const BufferId in = buffer(4000, Access::kReadOnly), out = buffer(4000);
  write(in, x);
  EXPECT_FALSE(run({launch(module, 8, 128, {BufferRef{in}, BufferRef{out}, 1000, 2.5f})}));
  EXPECT_EQ(read<float>(out, 1000)[999], 2497.5f);
}

TEST_F(CpuDeviceTest, ATrustedModuleRunsInThisProcessOnHiddenBuffersToo) {
  const ModuleId module = load(kScale, kScaleEntry, Trust::kTrusted);
  const BufferId in = buffer(400, Access::kHidden), out = buffer(400, Access::kReadOnly);
  write(in, std::vector<float>(100, 3.f));
  EXPECT_FALSE(run({launch(module, 1, 100, {BufferRef{in}, BufferRef{out}, 100, 2.f})}));
  EXPECT_EQ(read<float>(out, 100), std::vector<float>(100, 6.f));
}

TEST_F(CpuDeviceTest, StepsOfTrustedAndCandidateModulesRunInOrder) {
  const ModuleId trusted = load(kScale, kScaleEntry, Trust::kTrusted), candidate = load(kScale, kScaleEntry);
  const BufferId a = buffer(40), b = buffer(40);
  std::vector<device::Step> steps;
  write(a, std::vector<float>(10, 1.f));
  for (int i = 0; i < 6; ++i) {
    const auto [from, to] = i % 2 == 0 ? std::pair(a, b) : std::pair(b, a);
    steps.push_back(
        launch(i % 3 == 0 ? trusted : candidate, 1, 10, {BufferRef{from}, BufferRef{to}, 10, 2.f}));
  }
  steps.push_back(device::Fill{{b, 8}, 4, 0x3F800000});
  EXPECT_FALSE(run(steps));
  EXPECT_EQ(read<float>(a, 10)[9], 64.f);
  EXPECT_EQ(read<float>(b, 10)[2], 1.f);
  EXPECT_EQ(read<float>(b, 10)[3], 32.f);
}

TEST_F(CpuDeviceTest, OffsetsNullPointersAndWideArgumentsReachTheKernel) {
  const ModuleId module = load(R"(
static void probe(double* out, const void* null, long wide, double value) {
  out[0] = null == nullptr ? 1 : 0; out[1] = (double)wide; out[2] = value;
})",
                               {{"probe", {"double*", "const void*", "long", "double"}}});
  const BufferId out = buffer(64);
  EXPECT_FALSE(
      run({launch(module, 1, 1, {BufferRef{out, 8}, device::NullPointer{}, std::int64_t{1} << 40, 0.1})}));
  EXPECT_EQ(read<double>(out, 4), (std::vector<double>{0, 1, 1099511627776.0, 0.1}));
}

TEST_F(CpuDeviceTest, ABufferAllocatedLaterIsVisibleToTheSameModule) {
  const ModuleId module = load(kScale, kScaleEntry);
  const BufferId in = buffer(4, Access::kReadOnly);
  write(in, std::vector<float>{7.f});
  for (int i = 0; i < 3; ++i) {
    const BufferId out = buffer(4);
    EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{in}, BufferRef{out}, 1, 1.f})}));
    EXPECT_EQ(read<float>(out, 1)[0], 7.f);
    device_->free(out);
  }
}

TEST_F(CpuDeviceTest, AnOverrunOfAnEndFlushBufferIsOutOfBoundsAtItsArgument) {
  const ModuleId module = load(kScale, kScaleEntry);
  const BufferId in = buffer(4096, Access::kReadOnly),
                 out = buffer(4096, Access::kReadWrite, Guard::kEndFlush);
  const auto fault = run({launch(module, 1, 1, {BufferRef{in}, BufferRef{out}, 1, 1.f}),
                          launch(module, 1, 1025, {BufferRef{in}, BufferRef{out}, 0, 1.f})});
  ASSERT_TRUE(fault);  // 1025 threads are refused before anything runs
  EXPECT_EQ(fault->kind, FailureKind::kInvalidConfig);
  const auto edge = run({launch(module, 1, 1, {BufferRef{in}, BufferRef{out}, 1, 1.f}),
                         launch(module, 11, 100, {BufferRef{in}, BufferRef{out}, 1100, 1.f})});
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, FailureKind::kOutOfBounds);
  EXPECT_EQ(edge->check, "guard.edge");
  EXPECT_EQ(edge->step, 1u);
  EXPECT_THAT(edge->message, HasSubstr("past the end of argument 1 (4096 bytes)"));
  EXPECT_TRUE(device_->usable());
  EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{in}, BufferRef{out}, 1, 1.f})}));
}

TEST_F(CpuDeviceTest, AnAccessBeforeAStartFlushBufferIsOutOfBounds) {
  const ModuleId module = load("static void k(int* p) { p[-1] = 1; }", {{"k", {"int*"}}});
  const BufferId out = buffer(64, Access::kReadWrite, Guard::kStartFlush);
  const auto fault = run({launch(module, 1, 1, {BufferRef{out}})});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, "guard.edge");
  EXPECT_THAT(fault->message, HasSubstr("4 bytes before the start of argument 0"));
}

TEST_F(CpuDeviceTest, AWriteToAReadOnlyInputIsAFaultAndTheInputStays) {
  const ModuleId module = load("static void k(int* p) { p[2] = 0; }", {{"k", {"int*"}}});
  const BufferId in = buffer(64, Access::kReadOnly);
  write(in, std::vector<int>(16, 5));
  const auto fault = run({launch(module, 1, 1, {BufferRef{in}})});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kOutOfBounds);
  EXPECT_EQ(fault->check, "guard.input");
  EXPECT_EQ(read<int>(in, 16), std::vector<int>(16, 5));
}

TEST_F(CpuDeviceTest, AWriteIntoARedZoneIsFoundByTheGuardCheck) {
  const ModuleId module =
      load("static void k(char* p, int at) { p[at] = p[at] + 1; }", {{"k", {"char*", "int"}}});
  const BufferId out = buffer(100);
  auto clean = device_->check_guards();
  ASSERT_TRUE(clean);
  EXPECT_FALSE(clean->violation);
  EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{out}, 115})}));
  auto report = device_->check_guards();
  ASSERT_TRUE(report && report->violation);
  EXPECT_THAT(*report->violation, HasSubstr("a byte 15 past its end"));
}

TEST_F(CpuDeviceTest, ABufferWithANameIsCalledByIt) {
  const ModuleId module =
      load("static void k(char* p, int at) { p[at] = p[at] + 1; }", {{"k", {"char*", "int"}}});
  auto zoned = device_->allocate({.bytes = 100, .name = "`y`"});
  auto flush = device_->allocate({.bytes = 64, .guard = Guard::kStartFlush, .name = "the workspace `w`"});
  ASSERT_TRUE(zoned && flush);
  EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{*zoned}, 115})}));
  auto report = device_->check_guards();
  ASSERT_TRUE(report && report->violation);
  EXPECT_THAT(*report->violation, HasSubstr("`y` (100 bytes): a byte 15 past its end"));
  const auto fault = run({launch(module, 1, 1, {BufferRef{*flush}, -1})});
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, HasSubstr("the workspace `w` (argument 0, 64 bytes)"));
}

TEST_F(CpuDeviceTest, AWriteBeforeABufferIsFoundByTheGuardCheck) {
  const ModuleId module =
      load("static void k(char* p, int at) { p[at] = p[at] + 1; }", {{"k", {"char*", "int"}}});
  const BufferId out = buffer(100);
  EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{out}, -60000})}));
  auto report = device_->check_guards();
  ASSERT_TRUE(report && report->violation);
  EXPECT_THAT(*report->violation, HasSubstr("a byte 60000 before its start"));
}

TEST_F(CpuDeviceTest, SkewAndAlignmentDecideTheAddressForEveryGuard) {
  const ModuleId module = load("static void k(long* p, const char* q) { *p = (long)q % 256; }",
                               {{"k", {"long*", "const char*"}}});
  const BufferId out = buffer(8);
  for (const Guard guard : {Guard::kRedZone, Guard::kEndFlush, Guard::kStartFlush}) {
    for (const std::uint32_t skew : {0u, 4u, 48u}) {
      auto id = device_->allocate({.bytes = 1001, .access = Access::kReadOnly, .guard = guard, .skew = skew});
      ASSERT_TRUE(id);
      EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{out}, BufferRef{*id}})}));
      EXPECT_EQ(read<long>(out, 1)[0], skew);
      device_->free(*id);
    }
  }
}

TEST_F(CpuDeviceTest, AKernelThatNeverEndsIsATimeoutAndTheDeviceGoesOn) {
  const ModuleId module =
      load("static void k(volatile int* p) { while (*p == 0) {} }", {{"k", {"volatile int*"}}});
  const BufferId flag = buffer(4);
  const auto fault = run({launch(module, 1, 1, {BufferRef{flag}})}, 50ms);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kTimeout);
  write(flag, std::vector<int>{1});
  EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{flag}})}));
}

TEST_F(CpuDeviceTest, ImpossibleLaunchesAreRefusedBeforeAnythingRuns) {
  const ModuleId module = load(kScale, kScaleEntry);
  const BufferId out = buffer(4);
  const std::vector<device::Arg> args = {BufferRef{out}, BufferRef{out}, 1, 1.f};
  Launch shared = launch(module, 1, 1, args);
  shared.shared_bytes = 100 * 1024;
  Launch cluster = launch(module, 2, 1, args);
  cluster.cluster[0] = 2;
  EXPECT_EQ(run({shared})->kind, FailureKind::kInvalidConfig);
  EXPECT_EQ(run({cluster})->kind, FailureKind::kUnsupported);
  EXPECT_EQ(run({launch(module, 0, 1, args)})->kind, FailureKind::kInvalidConfig);
  EXPECT_EQ(run({launch(module, 1, 1, {BufferRef{out}})})->kind, FailureKind::kInvalidConfig);
  EXPECT_EQ(run({launch(module, 1, 1, {BufferRef{out}, BufferRef{out}, std::int64_t{1}, 1.f})})->kind,
            FailureKind::kInvalidConfig);
}

TEST_F(CpuDeviceTest, HarnessMistakesAreErrorsNotFaults) {
  const ModuleId module = load(kScale, kScaleEntry);
  const BufferId hidden = buffer(4, Access::kHidden), out = buffer(4);
  const auto attempt = [&](Launch step) {
    const std::vector<device::Step> steps = {step};
    return device_->run(steps, 1s).has_value();
  };
  EXPECT_FALSE(attempt(launch(module, 1, 1, {BufferRef{hidden}, BufferRef{out}, 1, 1.f})));
  EXPECT_FALSE(attempt(launch(module, 1, 1, {BufferRef{BufferId{99}}, BufferRef{out}, 1, 1.f})));
  EXPECT_FALSE(attempt(launch(ModuleId{99}, 1, 1, {})));
  std::byte byte{};
  EXPECT_FALSE(device_->write({out, 4}, std::span(&byte, 1)));
  EXPECT_FALSE(device_->read({out, 5}, std::span(&byte, 0)));
}

TEST_F(CpuDeviceTest, AHugeBufferIsRefused) {
  auto id = device_->allocate({.bytes = 1ull << 43});
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::kEnvironment);
}

TEST_F(CpuDeviceTest, ACooperativeLaunchWithTooManyThreadsIsUnsupported) {
  const ModuleId module = load("static void k() { ak_rt_grid_barrier(); }", {{"k", {}}});
  Launch fits = launch(module, 16, 256, {});
  fits.cooperative = true;
  Launch too_large = launch(module, 64, 512, {});
  too_large.cooperative = true;
  EXPECT_FALSE(run({fits}));
  const auto fault = run({too_large});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kUnsupported);
  EXPECT_THAT(fault->message, HasSubstr("32768 threads; 16384"));
}

TEST_F(CpuDeviceTest, ARoundsTimedPartIsTimedAndItsStepsRunInOrder) {
  const ModuleId module = load(R"(
static void work(int* p, int n) { for (int i = 0; i < n; ++i) { asm volatile("" ::: "memory"); *p = *p + 1; } })",
                               {{"work", {"int*", "int"}}});
  const BufferId count = buffer(4);
  device::Round round;
  round.before = {device::Fill{{count, 0}, 4, 1}, device::Scrub{}, device::Scrub{device::Scrub::What::kL2}};
  round.timed = {launch(module, 1, 1, {BufferRef{count}, 1'000'000}),
                 launch(module, 1, 1, {BufferRef{count}, 1'000'000})};
  round.repeats = 2;
  const std::vector<device::Round> rounds(7, round);
  auto outcome = device_->time(rounds, {.deadline = 5s, .budget = 0ms, .min_rounds = 3});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->fault);
  ASSERT_EQ(outcome->rounds.size(), 3u);  // the budget was spent at once
  for (const device::RoundTime& time : outcome->rounds) {
    EXPECT_GT(time.us, 10.0);  // a million dependent additions in memory
    EXPECT_GT(time.wall_us, time.us);
  }
  EXPECT_EQ(read<int>(count, 1)[0], 2'000'001);
}

TEST_F(CpuDeviceTest, TwoCandidatesAlternateInJailsOfTheirOwn) {
  const ModuleId one = load(kScale, kScaleEntry), two = load(kScale, kScaleEntry);
  const BufferId in = buffer(4, Access::kReadOnly), out = buffer(4);
  write(in, std::vector<float>{1.f});
  std::vector<device::Round> rounds(8);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const float factor = i % 4 == 0 || i % 4 == 3 ? 2.f : 3.f;
    rounds[i].timed = {launch(factor == 2.f ? one : two, 1, 1, {BufferRef{in}, BufferRef{out}, 1, factor})};
  }
  auto outcome = device_->time(rounds, {.budget = 10s, .min_rounds = 8});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->rounds.size(), 8u);
  EXPECT_EQ(read<float>(out, 1)[0], 2.f);
}

TEST_F(CpuDeviceTest, AFaultInATimedRoundKeepsTheRoundsBefore) {
  const ModuleId module = load("static void k(int* p) { if (--*p == 0) ak_rt_trap(); }", {{"k", {"int*"}}});
  const BufferId count = buffer(4);
  write(count, std::vector<int>{3});
  device::Round round;
  round.timed = {launch(module, 1, 1, {BufferRef{count}})};
  const std::vector<device::Round> rounds(5, round);
  auto outcome = device_->time(rounds, {.budget = 10s});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->rounds.size(), 2u);
  ASSERT_TRUE(outcome->fault);
  EXPECT_EQ(outcome->fault->kind, FailureKind::kCrash);
}

TEST_F(CpuDeviceTest, SharedMemoryLeftByAnEarlierLaunchIsScrubbed) {
  const ModuleId module = load(R"(
static void leave() { *(int*)shared_memory = 12345; }
static void find(int* out) { *out = *(int*)shared_memory == 12345; })",
                               {{"leave", {}}, {"find", {"int*"}}});
  const BufferId out = buffer(4);
  Launch find = launch(module, 4, 1, {BufferRef{out}});
  find.entry = 1;
  EXPECT_FALSE(run({launch(module, 8, 1, {}), device::Scrub{}, find}));
  EXPECT_EQ(read<int>(out, 1)[0], 0);
}

TEST_F(CpuDeviceTest, TheInfoHasTheLimitsOfTheDesign) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.kind, "cpu");
  EXPECT_EQ(info.max_threads_per_block, 1024u);
  EXPECT_EQ(info.static_shared_bytes, 48u * 1024);
  EXPECT_EQ(info.dynamic_shared_bytes, 99u * 1024);
  EXPECT_EQ(info.natural_block, 1u);
  EXPECT_FALSE(info.cold_cache);
  EXPECT_THAT(info.name, HasSubstr("2 threads"));
  EXPECT_EQ(info.uuid, describe_cpu(2).uuid);
  EXPECT_NE(info.uuid, describe_cpu(3).uuid);
}

}  // namespace
}  // namespace ak::cpu
