#include "autokernel/device/cuda/nvrtc_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/base/file.h"
#include "autokernel/base/sandbox.h"
#include "autokernel/embed/device_headers.h"

namespace ak::cuda {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class NvrtcCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto location = find_nvrtc(NvrtcSearch::from_environment());
    if (!location) GTEST_SKIP() << location.error().message;
    if (location->includes.empty()) GTEST_SKIP() << "no CUDA headers beside " << location->library;
    if (!sandbox_support().complete()) GTEST_SKIP() << "this kernel lacks " << sandbox_support().missing();
    options_.location = *location;
    options_.headers = embed::device_headers();
  }

  device::CompileOutcome compile(const Source& source) {
    auto compiler = NvrtcCompiler::create(options_);
    EXPECT_TRUE(compiler.has_value()) << compiler.error().message;
    auto outcome = compiler->compile(source);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome ? std::move(*outcome) : device::CompileOutcome{};
  }

  Binary binary_of(const Source& source) {
    auto outcome = compile(source);
    EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->message;
    return outcome.binary.value_or(Binary{});
  }

  Failure failure_of(const Source& source) {
    auto outcome = compile(source);
    EXPECT_TRUE(outcome.failure.has_value()) << "it compiled";
    return outcome.failure.value_or(Failure{});
  }

  NvrtcOptions options_;
};

Source source(std::string text) {
  Source source;
  source.name = "kernel.cu";
  source.text = std::move(text);
  source.entries = {"k"};
  source.arch = "sm_90a";
  return source;
}

constexpr const char* kTile =
    "extern \"C\" __global__ void k(float* x, int n) {\n"
    "  __shared__ float s[THREADS];\n"
    "  s[threadIdx.x] = x[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  x[0] = s[n];\n"
    "}\n";

Source tile(std::int64_t threads) {
  Source result = source(kTile);
  result.tunables = {{"THREADS", threads}};
  return result;
}

/// A kernel with this statement.
Source kernel(const std::string& statement) {
  return source("extern \"C\" __global__ void k(float* x, int n) {\n" + statement + "\n}\n");
}

TEST_F(NvrtcCompilerTest, MakesACubinWithItsResourcesAndThePtx) {
  const Binary binary = binary_of(tile(128));
  EXPECT_EQ(binary.format, "cubin");
  EXPECT_EQ(binary.arch, "sm_90a");
  EXPECT_THAT(binary.bytes, StartsWith("\x7f"
                                       "ELF"));
  EXPECT_THAT(binary.ptx, HasSubstr(".entry k("));
  ASSERT_EQ(binary.entries.size(), 1u);
  EXPECT_EQ(binary.entries[0].name, "k");
  EXPECT_EQ(binary.entries[0].symbol, "");
  EXPECT_GT(binary.entries[0].registers, 0u);
  EXPECT_EQ(binary.entries[0].static_shared_bytes, 512u);
  EXPECT_THAT(binary.entries[0].param_bytes, ElementsAre(8, 4));
  EXPECT_TRUE(binary.facts.has_barriers);
  EXPECT_THAT(binary.facts.forbidden, IsEmpty());
  EXPECT_THAT(binary.facts.mutable_globals, IsEmpty());
  EXPECT_TRUE(binary.sandboxed);
  EXPECT_GT(binary.compile_s, 0);
}

TEST_F(NvrtcCompilerTest, EntriesWithCppLinkageAndTemplatesCarryTheirSymbol) {
  Source two = source(
      "__global__ void plain(float* x) { x[0] = 1; }\n"
      "template <int N> __global__ void add(float* x) { x[0] += N; }\n");
  two.entries = {"add<3>", "plain"};
  const Binary binary = binary_of(two);
  ASSERT_EQ(binary.entries.size(), 2u);
  EXPECT_EQ(binary.entries[0].name, "add<3>");
  EXPECT_THAT(binary.entries[0].symbol, HasSubstr("add"));
  EXPECT_EQ(binary.entries[1].name, "plain");
  EXPECT_THAT(binary.ptx, HasSubstr(".entry " + binary.entries[1].symbol));
  EXPECT_THAT(binary.facts.forbidden, IsEmpty());
}

TEST_F(NvrtcCompilerTest, HalfKernelsUseTheDeviceLibrary) {
  Source half = source(
      "#include \"autokernel/device/convert.cuh\"\n#include <stdint.h>\n#include <cmath>\n"
      "extern \"C\" __global__ void k(const scalar_t* x, scalar_t* y, uint32_t n) {\n"
      "  float m = -INFINITY;\n  for (uint32_t i = 0; i < n; ++i) m = fmaxf(m, ak::to_float(x[i]));\n"
      "  y[0] = ak::from_float<scalar_t>(m);\n}\n");
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    half.dtype = dtype;
    EXPECT_THAT(binary_of(half).facts.forbidden, IsEmpty()) << name(dtype);
  }
}

TEST_F(NvrtcCompilerTest, MathTablesOfTheCompilerAreNoState) {
  EXPECT_THAT(binary_of(kernel("x[0] = sinf(x[1]); x[2] = (float)cos((double)x[3]);")).facts.mutable_globals,
              IsEmpty());
}

TEST_F(NvrtcCompilerTest, AnErrorIsReportedAtTheKernelsOwnLine) {
  const Failure failure = failure_of(source("\n\nextern \"C\" __global__ void k(float* x) { x[0] = y; }\n"));
  EXPECT_EQ(failure.kind, FailureKind::kCompile);
  EXPECT_EQ(failure.stage, Stage::kCompile);
  EXPECT_EQ(failure.check, "compile");
  EXPECT_THAT(failure.message, StartsWith("kernel.cu(3): error"));
  EXPECT_THAT(failure.message, Not(HasSubstr("Remark")));
}

TEST_F(NvrtcCompilerTest, AnEntryThatDoesNotExistIsNamed) {
  const Failure failure = failure_of(source("extern \"C\" __global__ void other(float* x) { x[0] = 1; }\n"));
  EXPECT_EQ(failure.kind, FailureKind::kCompile);
  EXPECT_THAT(failure.message, HasSubstr("`k`"));
}

TEST_F(NvrtcCompilerTest, FilesOfTheHostCannotBeIncludedNorDoTheirContentsAppear) {
  const std::string environment = read_file("/etc/passwd").value_or("root:");
  const std::string first_line = environment.substr(0, environment.find('\n'));
  for (const char* path :
       {"/etc/passwd", "/proc/self/environ", "/proc/self/maps", "../../../../../../etc/passwd"}) {
    const Failure failure = failure_of(source(fmt::format("#include \"{}\"\n{}", path, kernel("").text)));
    EXPECT_EQ(failure.check, "compile.sandbox") << path << failure.message;
    EXPECT_THAT(failure.message, Not(HasSubstr(first_line))) << path;
    EXPECT_THAT(failure.message, Not(HasSubstr("PATH="))) << path;
    EXPECT_THAT(failure.message, Not(HasSubstr("7f"))) << path;
  }
}

TEST_F(NvrtcCompilerTest, FactsForTheAuditComeFromTheFinalCode) {
  EXPECT_THAT(binary_of(kernel("printf(\"correctness: PASS %d\\n\", n);")).facts.forbidden,
              Contains(".extern .func vprintf"));
  EXPECT_THAT(binary_of(kernel("x[0] = *(float*)malloc(n);")).facts.forbidden,
              Contains(".extern .func malloc"));
  EXPECT_THAT(
      binary_of(kernel("#define REGISTER(name) \"%\" #name\nunsigned long long t;\n"
                       "asm volatile(\"mov.u64 %0, \" REGISTER(%globaltimer) \";\" : \"=l\"(t)); x[0] = t;"))
          .facts.forbidden,
      Contains("%globaltimer"));
  EXPECT_THAT(binary_of(kernel("x[0] = clock64(); x[1] = __expf(x[2]); __nanosleep(20);")).facts.noted,
              AllOf(Contains("%clock"), Contains("approx"), Contains("nanosleep")));
}

TEST_F(NvrtcCompilerTest, KernelsThatWereNotDeclaredAreForbidden) {
  Source two = source(std::string("extern \"C\" __global__ void spare(float* x) { x[0] = 2; }\n") +
                      kernel("x[0] = 1;").text);
  EXPECT_THAT(binary_of(two).facts.forbidden, ElementsAre(HasSubstr("spare")));
}

TEST_F(NvrtcCompilerTest, DeviceVariablesAreStateAndTablesAreNot) {
  Source counter = kernel("x[0] = atomicAdd(&calls, 1);");
  counter.text = "__device__ int calls;\n" + counter.text;
  EXPECT_THAT(binary_of(counter).facts.mutable_globals, ElementsAre(HasSubstr("calls")));
  Source cache = kernel("if (n) x[0] = last[n]; else last[n] = x[0];");
  cache.text = "__device__ float last[4] = {1, 2, 3, 4};\n" + cache.text;
  EXPECT_THAT(binary_of(cache).facts.mutable_globals, ElementsAre(HasSubstr("last")));
  Source table = kernel("x[0] = table[n] + constants[n];");
  table.text =
      "__device__ const float table[4] = {1, 2, 3, 4};\n__constant__ float constants[2] = {5, 6};\n" +
      table.text;
  EXPECT_THAT(binary_of(table).facts.mutable_globals, IsEmpty());
}

TEST_F(NvrtcCompilerTest, RegisterLimitsReachTheCompiler) {
  Source heavy = kernel(
      "float a[64];\n#pragma unroll\nfor (int i = 0; i < 64; ++i) a[i] = x[i];\n__syncthreads();\n"
      "#pragma unroll\nfor (int i = 0; i < 64; ++i) x[i + n] = a[i] * a[63 - i];");
  EXPECT_GT(binary_of(heavy).entries.at(0).registers, 32u);
  heavy.max_registers = 32;
  EXPECT_LE(binary_of(heavy).entries.at(0).registers, 32u);
}

TEST_F(NvrtcCompilerTest, LineInformationIsThereWhenAskedFor) {
  Source lines = tile(32);
  EXPECT_THAT(binary_of(lines).ptx, Not(HasSubstr(".loc")));
  lines.build = Build::kLines;
  EXPECT_THAT(binary_of(lines).ptx, HasSubstr(".loc"));
}

TEST_F(NvrtcCompilerTest, WhatItCannotCompileForIsUnsupported) {
  Source other = tile(32);
  for (const char* arch : {"cpu", "sm_9", "sm_35", "sm_90; rm", ""}) {
    other.arch = arch;
    EXPECT_EQ(failure_of(other).kind, FailureKind::kUnsupported) << arch;
  }
  Source checked = tile(32);
  checked.build = Build::kChecked;
  EXPECT_EQ(failure_of(checked).kind, FailureKind::kUnsupported);
}

TEST_F(NvrtcCompilerTest, ACompilerBombEndsAtItsLimits) {
  options_.deadline = std::chrono::seconds(2);
  const Failure failure =
      failure_of(source("template <int N, int M> struct F { static constexpr long long v = F<N - 1, M * 2 + "
                        "1>::v + F<N - 1, M * 2>::v; };\n"
                        "template <int M> struct F<0, M> { static constexpr long long v = M; };\n"
                        "extern \"C\" __global__ void k(float* x) { x[0] = F<28, 0>::v; }\n"));
  EXPECT_THAT(failure.check, ::testing::AnyOf("compile.sandbox", "compile")) << failure.message;
  EXPECT_THAT(failure.kind, ::testing::AnyOf(FailureKind::kTimeout, FailureKind::kCompile))
      << failure.message;
}

TEST_F(NvrtcCompilerTest, ASecondCompileComesFromTheCache) {
  auto folder = TempDir::create("nvrtc-cache");
  ASSERT_TRUE(folder.has_value());
  auto cache = device::ObjectCache::open(folder->path());
  ASSERT_TRUE(cache.has_value());
  options_.cache = *cache;
  const Binary first = binary_of(tile(64));
  EXPECT_FALSE(first.from_cache);
  const Binary second = binary_of(tile(64));
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_FALSE(binary_of(tile(32)).from_cache);
}

TEST_F(NvrtcCompilerTest, ManyCompilesOfOneCompilerAreEachWhatTheyWouldBeAlone) {
  auto compiler = NvrtcCompiler::create(options_);
  ASSERT_TRUE(compiler.has_value());
  const Binary alone = binary_of(tile(64));
  for (const int size : {32, 64, 32, 64}) {
    ASSERT_TRUE(compiler->compile(source("no C++"))->failure.has_value());
    const auto outcome = compiler->compile(tile(size));
    ASSERT_TRUE(outcome.has_value() && outcome->binary.has_value());
    if (size == 64) {
      EXPECT_EQ(outcome->binary->bytes, alone.bytes);
    }
  }
}

TEST_F(NvrtcCompilerTest, WithoutASandboxTheBinarySaysSo) {
  options_.confinement = Confinement::kNone;
  EXPECT_FALSE(binary_of(tile(32)).sandboxed);
}

TEST_F(NvrtcCompilerTest, ALibraryThatCannotBeLoadedIsAnEnvironmentError) {
  options_.location.builtins = "/nowhere/libnvrtc-builtins.so.13.0";
  auto compiler = NvrtcCompiler::create(options_);
  ASSERT_TRUE(compiler.has_value());
  const auto outcome = compiler->compile(tile(32));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(outcome.error().message, HasSubstr("/nowhere/"));
}

TEST_F(NvrtcCompilerTest, AChildThatIsNoCompilerIsAnEnvironmentError) {
  options_.child_command = {"/bin/echo", "PASS"};
  auto compiler = NvrtcCompiler::create(options_);
  ASSERT_TRUE(compiler.has_value());
  const auto outcome = compiler->compile(tile(32));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error().message, HasSubstr("gave no answer"));
}

TEST_F(NvrtcCompilerTest, ASlowHeaderIsNamedInTheLog) {
  for (const std::string header : {"cooperative_groups.h", "cuda/barrier"}) {
    const Binary binary = binary_of(source(
        "#include <" + header + ">\nextern \"C\" __global__ void k(float* x, int n) { x[0] = (float)n; }\n"));
    EXPECT_THAT(binary.log, HasSubstr("slow every compile down")) << header;
  }
  EXPECT_THAT(
      binary_of(
          source("#include <cuda_fp16.h>\nextern \"C\" __global__ void k(float* x, int n) { x[0] = n; }\n"))
          .log,
      Not(HasSubstr("slow")));
}

}  // namespace
}  // namespace ak::cuda
