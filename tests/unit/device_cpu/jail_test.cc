// Hostile candidates: what the jail holds, and what the parent makes of a jail that lies.

#include "autokernel/device/cpu/jail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "autokernel/device/cpu/fault_text.h"
#include "support/cpu_fixture.h"

namespace ak::cpu {
namespace {

using namespace std::chrono_literals;
using device::Access;
using device::BufferRef;
using device::Fault;
using device::ModuleId;
using testing::HasSubstr;

/// A raw system call, as hostile code makes it: no import is needed.
constexpr char kSystemCall[] = R"(
static long call(long n, long a, long b, long c) {
  long r; asm volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r;
}
)";

class JailTest : public test::CpuFixture {
 protected:
  std::optional<Fault> attack(const std::string& body, std::vector<device::Arg> args = {},
                              std::vector<std::string> params = {}) {
    const ModuleId module = load(kSystemCall + body, {{"k", std::move(params)}});
    auto fault = run({launch(module, 1, 1, std::move(args))}, 2s);
    // Whatever it did, the next candidate runs as if nothing had been.
    if (!honest_) honest_ = load("static void k(int* p) { *p = 41; }", {{"k", {"int*"}}});
    const auto out = buffer(4);
    EXPECT_FALSE(run({launch(*honest_, 1, 1, {BufferRef{out}})}));
    EXPECT_EQ(read<int>(out, 1)[0], 41);
    return fault;
  }
  std::optional<ModuleId> honest_;
};

TEST_F(JailTest, EverySystemCallButTheFewAllowedOnesIsACrashWithItsNumber) {
  const ModuleId module = load(
      std::string(kSystemCall) + "static void k(long number) { call(number, 0, 0, 0); }", {{"k", {"long"}}});
  for (const std::int64_t number :
       {0 /* read */, 1 /* write */, 2 /* open */, 9 /* mmap */, 10 /* mprotect */, 39 /* getpid */,
        56 /* clone */, 59 /* execve */, 62 /* kill */, 101 /* ptrace */, 257 /* openat */,
        310 /* process_vm_readv */}) {
    const auto fault = run({launch(module, 1, 1, {number})});
    ASSERT_TRUE(fault) << number;
    EXPECT_EQ(fault->kind, FailureKind::kCrash);
    EXPECT_EQ(fault->check, "fault");
    EXPECT_THAT(fault->message, HasSubstr(fmt::format("system call {} from block", number)));
  }
}

TEST_F(JailTest, A32BitSystemCallKillsTheProcess) {
  const auto fault = attack("static void k() { asm volatile(\"int $0x80\" : : \"a\"(20) : \"memory\"); }");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
}

TEST_F(JailTest, LeavingTheProcessIsACrash) {
  const auto fault = attack("static void k() { call(231, 0, 0, 0); }");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("exit code 0"));
}

TEST_F(JailTest, LeavingOneThreadIsATimeoutNotAHang) {
  const ModuleId module =
      load(std::string(kSystemCall) + "static void k() { call(60, 0, 0, 0); }", {{"k", {}}});
  const auto fault = run({launch(module, 2, 1, {})}, 100ms);
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->kind, testing::AnyOf(FailureKind::kTimeout, FailureKind::kCrash));
}

TEST_F(JailTest, ANullPointerIsACrashThatSaysSo) {
  const auto fault =
      attack("static void k(volatile int* p) { *p = 1; }", {device::NullPointer{}}, {"volatile int*"});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("null pointer"));
}

TEST_F(JailTest, ADivisionByZeroIsACrash) {
  const auto fault = attack("static void k(int a) { volatile int x = 5; x = x / a; }", {0}, {"int"});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("SIGFPE"));
}

TEST_F(JailTest, AThreadThatUsesUpItsStackIsToldSo) {
  const auto fault = attack(
      "static int deep(volatile int* p, int n) { volatile char b[4096]; b[n % 4096] = 1; "
      "return n == 0 ? *p : deep(p, n - 1) + b[1]; }\n"
      "static void k() { volatile int x = 0; ak_rt_barrier(); x = deep(&x, 1000); }");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("stack overflow"));
}

TEST_F(JailTest, AStaticConstructorThatOpensAFileGetsNothing) {
  const auto fault = attack(R"x(
static long g_result = 12345;
__attribute__((constructor)) static void start() { g_result = call(257, -100, (long)"/etc/passwd", 0); }
static void k(long* out) { *out = g_result; })x",
                            {BufferRef{buffer(8)}}, {"long*"});
  EXPECT_FALSE(fault);  // it ran, jailed
}

TEST_F(JailTest, AStaticConstructorThatLeavesIsACrashWhileLoading) {
  const auto fault =
      attack("__attribute__((constructor)) static void s() { call(231, 7, 0, 0); }\nstatic void k() {}");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("exit code 7 while its module was loaded"));
}

TEST_F(JailTest, AMissingSymbolIsAFaultWithItsName) {
  const auto fault = attack("extern \"C\" void no_such_function(); static void k() { no_such_function(); }");
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, HasSubstr("no_such_function"));
}

TEST_F(JailTest, RubbishInsteadOfASharedObjectIsAFault) {
  Binary binary;
  binary.format = "elf";
  binary.bytes = "this is no ELF file";
  binary.entries = {{}};
  auto module = device_->load(binary, device::Trust::kCandidate);
  ASSERT_TRUE(module);
  const auto fault = run({launch(*module, 1, 1, {})});
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, HasSubstr("cannot be loaded"));
}

TEST_F(JailTest, NoDescriptorAndNoEnvironmentOfTheParentIsInTheJail) {
  ASSERT_EQ(::setenv("AK_TEST_SECRET", "hunter2", 1), 0);
  const ModuleId module = load(R"(
extern char** environ;
static void k(int* out) { *out = environ == nullptr || environ[0] == nullptr ? 1 : 2; })",
                               {{"k", {"int*"}}});
  const auto out = buffer(4);
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the jail of an AddressSanitizer build gets ASAN_OPTIONS";
#endif
  EXPECT_FALSE(run({launch(module, 1, 1, {BufferRef{out}})}));
  EXPECT_EQ(read<int>(out, 1)[0], 1);
}

/// Hostile code that knows the runtime: from the parameter array it finds the jail's own state and in it the
/// pointer to the control block.
constexpr char kFindControl[] = R"x(
#include "autokernel/device/cpu/jail_protocol.h"
using namespace ak::cpu;
static JailControl* find_control(void* near) {
  uint64_t* at = (uint64_t*)((uint64_t)near & ~7ull);
  for (int i = 0; i < 4000; ++i) {
    const uint64_t value = *--at;
    if (value % 4096 == 0 && value > 0x100000000ull && value < 0x800000000000ull &&
        *(volatile uint32_t*)value == kJailMagic) return (JailControl*)value;
  }
  return nullptr;
}
static void forge_done(JailControl* control) {
  control->done.store(control->request.load());
  control->event.fetch_add(1);
  call(202, (long)&control->event, 1, 1);
}
static void** g_params;
#undef AK_SEES_PARAMS
#define AK_SEES_PARAMS(p) g_params = p
)x";

TEST_F(JailTest, WorkAfterAForgedDoneNeverReachesTheOutput) {
  // Claims to be done at once and goes on writing. The parent accepts the claim, and stops the process before
  // anyone reads: what has not been computed by then is not there.
  auto binary = test::handmade_module(std::string(kSystemCall) + kFindControl + R"x(
static void k(volatile int* out) {
  JailControl* control = find_control(g_params);
  if (control == nullptr) __builtin_trap();
  for (int i = 0;; ++i) {
    *out = i;
    if (i == 1000) forge_done(control);
  }
})x",
                                      {{"k", {"volatile int*"}}});
  ASSERT_TRUE(binary) << binary.error().message;
  auto module = device_->load(*binary, device::Trust::kCandidate);
  ASSERT_TRUE(module);
  const auto out = buffer(4);
  EXPECT_FALSE(run({launch(*module, 1, 1, {BufferRef{out}})}));
  const int first = read<int>(out, 1)[0];
  EXPECT_GE(first, 1000);
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(read<int>(out, 1)[0], first);
  // Nothing is left but to be caught by the next request that is not answered.
  EXPECT_EQ(run({launch(*module, 1, 1, {BufferRef{out}})}, 50ms)->kind, FailureKind::kTimeout);
}

TEST_F(JailTest, RubbishAllOverTheControlBlockIsAFaultAndNothingMore) {
  const auto fault = attack(std::string(kFindControl) + R"x(
static void k() {
  JailControl* control = find_control(g_params);
  if (control == nullptr) __builtin_trap();
  for (unsigned i = 0; i < sizeof(JailControl); ++i) ((volatile unsigned char*)control)[i] = 0xEE;
  control->state.store(JailState::kFaulted);
  control->event.fetch_add(1);
  call(202, (long)&control->event, 1, 1);
  for (;;) {}
})x");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("makes no sense"));
}

// ---- the parent's side of the protocol, with a jail that says what it likes ----

FaultRecord random_record(std::uint64_t seed) {
  FaultRecord record;
  auto* bytes = reinterpret_cast<unsigned char*>(&record);
  for (std::size_t i = 0; i < sizeof(record); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<unsigned char>(seed >> 56);
  }
  return record;
}

TEST(FaultText, NoRecordWhateverItsBytesBreaksTheDescription) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    FaultRecord record = random_record(seed);
    if (seed % 2 == 0) record.kind = static_cast<RecordKind>(seed / 2 % 14);
    if (seed % 3 == 0) record.region = static_cast<Region>(seed / 3 % 6);
    const Fault fault = describe(record, {});
    EXPECT_FALSE(fault.message.empty());
    for (const char c : fault.message) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(FaultText, ABufferIsNamedOnlyWhereTheAddressIsNearIt) {
  FaultRecord record;
  record.kind = RecordKind::kSignal;
  record.signal = SIGSEGV;
  record.region = Region::kBuffer;
  record.region_bytes = 4096;
  record.address = 8;
  record.offset = -140385759027192;
  EXPECT_THAT(describe(record, {}).message,
              testing::AllOf(HasSubstr("through a null pointer"), testing::Not(HasSubstr("buffer"))));
  record.address = std::uint64_t{1} << 46;
  record.offset = std::int64_t{1} << 40;
  EXPECT_THAT(describe(record, {}).message, HasSubstr("far from everything it may touch"));
  record.offset = 4096 + (1 << 20);
  EXPECT_THAT(describe(record, {}).message, HasSubstr("1048576 bytes past the end of a buffer"));
}

TEST(FaultText, AnEndBySigkillThatWasNotOursCountsAsOutOfMemory) {
  JailEnd end;
  end.kind = JailEnd::Kind::kSignal;
  end.status = SIGKILL;
  EXPECT_EQ(describe(end, {}).kind, FailureKind::kOutOfMemory);
}

TEST(JailStart, AProcessThatIsNoJailIsAnErrorOfTheEnvironment) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer builds have no jails";
#endif
  auto made = CpuDevice::create({.jail_command = {"/bin/true"}, .threads = 1});
  ASSERT_TRUE(made);
  auto binary = test::handmade_module("static void k() {}", {{"k", {}}});
  ASSERT_TRUE(binary);
  auto module = (*made)->load(*binary, device::Trust::kCandidate);
  ASSERT_TRUE(module);
  device::Launch launch;
  launch.module = *module;
  const std::vector<device::Step> steps = {launch};
  auto outcome = (*made)->run(steps, 1s);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("is no jail"));
}

}  // namespace
}  // namespace ak::cpu
