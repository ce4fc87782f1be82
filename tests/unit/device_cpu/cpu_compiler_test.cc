#include "autokernel/device/cpu/cpu_compiler.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "compiled_kernel.h"

namespace ak::cpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using CpuCompilerTest = CompilerFixture;

constexpr std::string_view kAxpy =
    "extern \"C\" __global__ void k(const float* x, float* y, float a, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i];\n"
    "}\n";

TEST_F(CpuCompilerTest, APlainKernelRunsAsALoopOverItsThreads) {
  const auto made = binary(source(kAxpy));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->format, "elf");
  EXPECT_EQ(made->arch, "cpu");
  EXPECT_THAT(made->entries[0].param_bytes, ElementsAre(8, 8, 4, 4));
  EXPECT_THAT(made->facts.imports, IsEmpty());
  EXPECT_THAT(made->facts.forbidden, IsEmpty());
  EXPECT_THAT(made->facts.mutable_globals, IsEmpty());
  EXPECT_FALSE(made->facts.has_barriers);
  EXPECT_TRUE(made->sandboxed);
  const LoadedModule module(*made);
  std::vector<float> x(300), y(300, -1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  float* px = x.data();
  float* py = y.data();
  float a = 3;
  int n = 290;
  for (unsigned block = 0; block < 3; ++block)
    module.run_block(0, {&px, &py, &a, &n}, {128, 1, 1}, {block, 0, 0});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[289], 3 * 289);
  EXPECT_EQ(y[290], -1);
}

TEST_F(CpuCompilerTest, ThreadAndBlockIndicesHaveThreeDimensions) {
  const auto made =
      binary(source("__global__ void k(unsigned* out) {\n"
                    "  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
                    "  out[t] = 100 * threadIdx.z + 10 * threadIdx.y + threadIdx.x + 1000 * blockIdx.y + "
                    "10000 * gridDim.z;\n"
                    "}\n"));
  ASSERT_TRUE(made);
  std::vector<unsigned> out(24);
  unsigned* p = out.data();
  LoadedModule(*made).run_block(0, {&p}, {2, 3, 4}, {0, 5, 1});
  EXPECT_EQ(out[23], 321u + 5000u + 20000u);
  EXPECT_EQ(out[0], 25000u);
}

TEST_F(CpuCompilerTest, BlocksBeyondThePlainLoopsRangeRunToo) {
  const auto made =
      binary(source("__global__ void k(unsigned long long* out) { out[threadIdx.x] = 1ull * blockIdx.x * "
                    "blockDim.x + threadIdx.x; }\n"));
  ASSERT_TRUE(made);
  std::vector<unsigned long long> out(64);
  unsigned long long* p = out.data();
  LoadedModule(*made).run_block(0, {&p}, {64, 1, 1}, {2'000'000'000, 0, 0});
  EXPECT_EQ(out[63], 2'000'000'000ull * 64 + 63);
}

TEST_F(CpuCompilerTest, DtypeFlagsTunablesAndSpecialisedDimsReachTheKernel) {
  Source s = source(
      "static_assert(sizeof(scalar_t) == 2 && AK_DTYPE_BF16 == 1, \"dtype\");\n"
      "static_assert(kN == 4096 && HAS_BIAS == 0 && SHIFT == -3 && USE_IT == 1, \"numbers\");\n"
      "__global__ void k(scalar_t* x) { TYPE v = 1; x[0] = v; }\n");
  s.dtype = DType::kBF16;
  s.flags = {{"HAS_BIAS", 0}};
  s.tunables = {{"SHIFT", std::int64_t{-3}}, {"USE_IT", true}, {"TYPE", std::string("unsigned short")}};
  s.specialised = {{"N", 4096}};
  EXPECT_TRUE(binary(s));
}

TEST_F(CpuCompilerTest, CAndCxxKernelsOfOneFileAreEntriesInTheOrderAskedFor) {
  const auto made = binary(
      source("namespace ns { __global__ void b(int) {} }\nextern \"C\" __global__ void a(double, char) {}\n"
             "template <int N> __global__ void c(int* p) { *p = N; }\n",
             {"a", "ns::b", "c<7>"}));
  ASSERT_TRUE(made);
  ASSERT_EQ(made->entries.size(), 3u);
  EXPECT_EQ(made->entries[1].name, "ns::b");
  EXPECT_THAT(made->entries[0].param_bytes, ElementsAre(8, 1));
  const LoadedModule module(*made);
  EXPECT_STREQ(module.module().entries[2].name, "c<7>");
  int value = 0;
  int* p = &value;
  module.run_block(2, {&p}, {1, 1, 1});
  EXPECT_EQ(value, 7);
}

TEST_F(CpuCompilerTest, AnEntryThatDoesNotExistIsNamed) {
  const Failure f = failure(source("__global__ void k() {}\n__device__ void helper() {}\n", {"helper"}));
  EXPECT_EQ(f.kind, FailureKind::kCompile);
  EXPECT_THAT(f.message, HasSubstr("entry `helper` is not a __global__ function of this file (it has k)"));
  const Failure macro = failure(source("#define K(n) __global__ void n() {}\nK(a)\n", {"b"}));
  EXPECT_THAT(macro.message, HasSubstr("entry `b` is not a __global__ function of this file"));
}

TEST_F(CpuCompilerTest, KernelsMadeByMacrosAreFound) {
  EXPECT_TRUE(binary(source("#define K(n) __global__ void n(int* p) { *p = 1; }\nK(k)\n")));
}

TEST_F(CpuCompilerTest, ErrorsNameTheKernelFilesOwnLine) {
  const Failure f = failure(
      source("__global__ void k(float* x) {\n\n  __shared__ float t[\n4];\n  x[0] = t[0] + nope;\n}\n"));
  EXPECT_EQ(f.kind, FailureKind::kCompile);
  EXPECT_EQ(f.stage, Stage::kCompile);
  EXPECT_THAT(f.message, HasSubstr("kernel.cu:5:"));
  EXPECT_THAT(f.message, HasSubstr("'nope' was not declared"));
  EXPECT_THAT(f.message, HasSubstr("5 |   x[0] = t[0] + nope;"));
  EXPECT_THAT(f.message, Not(HasSubstr(folder_.string())));
}

TEST_F(CpuCompilerTest, WhatTheDeviceCannotDoIsUnsupportedWithItsLine) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"\n__global__ void k() { asm volatile(\"bar.sync 0;\" ::: \"memory\"); }",
       "kernel.cu:2: inline PTX is not supported"},
      {"#define SYNC asm volatile(\"bar.sync 0;\")\n\n__global__ void k() { SYNC; }",
       "kernel.cu:3: inline PTX is not supported"},
      {"#include <cub/cub.cuh>\n__global__ void k() {}",
       "kernel.cu:1: <cub/cub.cuh> is not available on the CPU device"},
      {"__global__ void k(long long* p) {\n *p = clock64(); }",
       "kernel.cu:2: clock64 is not supported on the CPU device"},
  };
  for (const auto& c : cases) {
    const Failure f = failure(source(c.text));
    EXPECT_EQ(f.kind, FailureKind::kUnsupported) << f.message;
    EXPECT_THAT(f.message, HasSubstr(c.message));
  }
}

TEST_F(CpuCompilerTest, InlineAssemblyInABranchForGpusDoesNotMatter) {
  EXPECT_TRUE(binary(
      source("#ifdef __CUDA_ARCH__\n__device__ void f() { asm(\"\"); }\n#endif\n__global__ void k() {}\n")));
}

TEST_F(CpuCompilerTest, OtherLanguagesAndArchitecturesAreUnsupported) {
  Source triton = source(kAxpy);
  triton.language = "triton";
  EXPECT_EQ(failure(triton).kind, FailureKind::kUnsupported);
  Source gpu = source(kAxpy);
  gpu.arch = "sm_90a";
  EXPECT_EQ(failure(gpu).kind, FailureKind::kUnsupported);
}

TEST_F(CpuCompilerTest, NoFileOfTheMachineCanBeReadOrQuoted) {
  std::ofstream(folder_ / "secret.h") << "int secret_word = not_c++;\n";
  const std::string secret = (folder_ / "secret.h").string();
  for (const std::string& path : {std::string("/etc/passwd"), std::string("/proc/self/environ"), secret}) {
    const Failure plain = failure(source("#include \"" + path + "\"\n__global__ void k() {}\n"));
    EXPECT_EQ(plain.check, "compile.sandbox");
    // The rewrite cannot see through a macro: the sandbox itself must refuse.
    const Failure hidden =
        failure(source("#define F \"" + path + "\"\n#include F\n__global__ void k() {}\n"));
    EXPECT_EQ(hidden.check, "compile.sandbox") << hidden.message;
    for (const std::string& message : {plain.message, hidden.message}) {
      EXPECT_THAT(message, HasSubstr("refused"));
      EXPECT_THAT(message, Not(HasSubstr("root:")));
      EXPECT_THAT(message, Not(HasSubstr("secret_word")));
    }
  }
}

TEST_F(CpuCompilerTest, LineDirectivesCannotQuoteFiles) {
  const Failure f = failure(source("#line 1 \"/etc/passwd\"\n__global__ void k() { nope; }\n"));
  EXPECT_THAT(f.message, Not(HasSubstr("root:")));
}

TEST_F(CpuCompilerTest, ACompilerBombEndsWithinItsLimits) {
  std::string text = "#define A0 x x x x x x x x x x\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = " A" + std::to_string(i - 1);
    text += "#define A" + std::to_string(i);
    for (int j = 0; j < 10; ++j) text += below;
    text += "\n";
  }
  const Failure f = failure(source(text + "__global__ void k() { A11 }\n"));
  EXPECT_EQ(f.check, "compile.sandbox") << f.message;
  EXPECT_TRUE(f.kind == FailureKind::kOutOfMemory || f.kind == FailureKind::kTimeout);
}

TEST_F(CpuCompilerTest, ALongLogIsCut) {
  std::string text = "__global__ void k() {\n";
  for (int i = 0; i < 500; ++i) text += "  undeclared_" + std::to_string(i) + std::string(300, 'x') + ";\n";
  EXPECT_LE(failure(source(text + "}\n")).message.size(), 4500u);
}

TEST_F(CpuCompilerTest, EveryFormOfSharedDeclarationCompilesInBothBuilds) {
  const std::string_view text =
      "constexpr int kTile = 8;\n"
      "struct alignas(16) Vec { float v[4]; };\n"
      "__shared__ float outer[4], outer_scalar;\n"
      "extern __shared__ unsigned char raw_outer[];\n"
      "template <class T, int N> __device__ T sum_of(const T* x) {\n"
      "  __shared__ T tile[N][kTile + 1];\n"
      "  __shared__ alignas(16) T aligned[N], more;\n"
      "  tile[0][threadIdx.x % N] = x[0]; aligned[0] = x[0]; more = x[0];\n"
      "  return tile[0][threadIdx.x % N] + aligned[0] + more;\n"
      "}\n"
      "__device__ void take(float (&a)[4]) { a[0] += 1; }\n"
      "__global__ void k(float* out, const float* in) {\n"
      "  __shared__ __align__(16) float a[4];\n"
      "  static __shared__ int b;\n"
      "  __shared__ volatile float c[2];\n"
      "  __shared__ struct { int n; float f; } d;\n"
      "  __shared__ Vec e[2];\n"
      "  float __shared__ f[2][3];\n"
      "  __shared__ __half g[8];\n"
      "  extern __shared__ __align__(16) float dynamic[];\n"
      "  b = 1; c[0] = 1; d.n = 1; e[1].v[3] = 1; f[1][2] = 1; g[0] = __float2half(1.0f); a[0] = 0; "
      "take(a);\n"
      "  dynamic[0] = 1; raw_outer[4] = 1; outer[1] = 1; outer_scalar = 1;\n"
      "  float4* wide = reinterpret_cast<float4*>(raw_outer); wide[1].x = 1;\n"
      "  out[0] = a[0] + b + c[0] + d.n + e[1].v[3] + f[1][2] + __half2float(g[0]) + dynamic[0] + outer[1] + "
      "outer_scalar +\n"
      "           wide[1].x + sum_of<float, 4>(in) + sizeof(a) / sizeof(a[0]);\n"
      "}\n";
  for (Build build : {Build::kTimed, Build::kChecked, Build::kLines}) {
    Source s = source(text);
    s.build = build;
    const auto made = binary(s);
    ASSERT_TRUE(made);
    EXPECT_THAT(made->facts.forbidden, IsEmpty());
    EXPECT_THAT(made->facts.mutable_globals, IsEmpty());
    EXPECT_GE(made->entries[0].static_shared_bytes, 300u);
  }
}

TEST_F(CpuCompilerTest, SharedMemoryIsAsLargeAsDeclaredAndLiesInTheModulesRange) {
  const auto made =
      binary(source("__global__ void k(char** where) {\n  __shared__ char a[1000];\n  where[0] = a;\n  "
                    "where[1] = a + 999;\n}\n"
                    "__global__ void other(char** where) { __shared__ char b[5000]; where[0] = b; }\n",
                    {"k", "other"}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->entries[0].static_shared_bytes, 1000u);
  EXPECT_EQ(made->entries[1].static_shared_bytes, 5000u);
  const LoadedModule module(*made);
  char* where[2] = {};
  char** p = where;
  module.run_block(0, {&p}, {1, 1, 1});
  void* begin = nullptr;
  std::uint64_t bytes = 0;
  module.module().shared_range(&begin, &bytes);
  EXPECT_GE(bytes, 6000u);
  EXPECT_GE(where[0], static_cast<char*>(begin));
  EXPECT_LT(where[1], static_cast<char*>(begin) + bytes);
}

TEST_F(CpuCompilerTest, AModuleWithoutSharedMemoryHasAnEmptyRange) {
  const auto made = binary(source(kAxpy));
  ASSERT_TRUE(made);
  const LoadedModule module(*made);
  void* begin = nullptr;
  std::uint64_t bytes = 1;
  module.module().shared_range(&begin, &bytes);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(CpuCompilerTest, TheCheckedBuildCallsTheRuntimeForEveryAccess) {
  Source s = source(
      "__global__ void k(float* x) { __shared__ float t, u[4]; t = x[1]; __syncthreads(); u[threadIdx.x] = "
      "t; x[0] = u[0]; }");
  s.build = Build::kChecked;
  const auto made = binary(s);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->facts.imports, Contains("__asan_load4_noabort"));
  EXPECT_THAT(made->facts.imports, Contains("__asan_store4_noabort"));
  EXPECT_THAT(made->facts.imports, Contains("__ubsan_handle_out_of_bounds"));
  EXPECT_THAT(made->facts.forbidden, IsEmpty());
}

TEST_F(CpuCompilerTest, AtomicsAreAnnouncedInTheCheckedBuild) {
  Source s = source("__global__ void k(int* x) { atomicAdd(x, 1); }");
  s.build = Build::kChecked;
  const auto made = binary(s);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->facts.imports, ElementsAre("ak_rt_atomic", "ak_rt_yield"));
}

TEST_F(CpuCompilerTest, SpinningOnVolatileDataYields) {
  const auto made = binary(source("__global__ void k(volatile int* flag) { while (*flag == 0) { } }"));
  ASSERT_TRUE(made);
  EXPECT_THAT(made->facts.imports, Contains("__sanitizer_cov_trace_pc"));
}

TEST_F(CpuCompilerTest, BarriersAreKnown) {
  const auto made = binary(source("__global__ void k(int* x) { __syncthreads(); x[0] = 1; }"));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->facts.has_barriers);
}

TEST_F(CpuCompilerTest, ASecondCompileComesFromTheCache) {
  Source once = source("__global__ void k(int* x) { x[0] = 12345; }");
  const auto first = binary(once);
  const auto second = binary(once);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->from_cache);
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(first->bytes, second->bytes);
  once.tunables = {{"UNUSED", std::int64_t{1}}};
  EXPECT_FALSE(binary(once)->from_cache);
}

TEST_F(CpuCompilerTest, AFailedCompileIsRememberedInMemoryOnly) {
  const Source bad = source("__global__ void k() { nope; }");
  EXPECT_EQ(failure(bad).message, failure(bad).message);
}

TEST_F(CpuCompilerTest, DeviceHeadersAreOnTheIncludePath) {
  const auto made = binary(source(
      "#include \"autokernel/device/twice.cuh\"\n__global__ void k(float* x) { x[0] = twice(x[0]); }"));
  ASSERT_TRUE(made);
  float x = 4;
  float* p = &x;
  LoadedModule(*made).run_block(0, {&p}, {1, 1, 1});
  EXPECT_EQ(x, 8);
}

TEST_F(CpuCompilerTest, WarningsAreKeptInTheLog) {
  const auto made = binary(source("__global__ void k(int* x) { int y; x[0] = y; }"));
  ASSERT_TRUE(made);
  EXPECT_THAT(made->log, HasSubstr("kernel.cu:1:"));
}

TEST_F(CpuCompilerTest, NamesThatAreNoIdentifiersAreUsageErrors) {
  for (const char* entry : {"k; int x", "", "1k", "k()"}) {
    const auto outcome = compiler_->compile(source("#define K __global__\nK void k() {}", {entry}));
    EXPECT_TRUE(!outcome || outcome->failure) << entry;
  }
}

TEST_F(CpuCompilerTest, AnotherCompilerWithTheSameCacheFindsTheObject) {
  ASSERT_TRUE(binary(source(kAxpy)));
  CpuCompilerOptions options;
  options.cache = folder_;
  static constexpr EmbeddedFile kOther = {"autokernel/device/other.cuh", "#pragma once\n"};
  auto same = CpuCompiler::create(options);
  options.device_headers = {kOther};
  auto other = CpuCompiler::create(options);
  ASSERT_TRUE(same && other);
  ASSERT_TRUE((*same)->compile(source(kAxpy))->binary);
  EXPECT_TRUE((*same)->compile(source(kAxpy))->binary->from_cache);
  // Other device headers are another compiler.
  EXPECT_FALSE((*other)->compile(source(kAxpy))->binary->from_cache);
}

TEST_F(CpuCompilerTest, ADamagedPrecompiledPreludeIsMadeAnew) {
  const TempDir folder = std::move(*TempDir::create("ak-damaged"));
  CpuCompilerOptions options;
  options.cache = folder.path();
  ASSERT_TRUE((*CpuCompiler::create(options))->compile(source(kAxpy))->binary);
  int damaged = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (file.path().extension() != ".gch") continue;
    std::fstream(file.path(), std::ios::in | std::ios::out).seekp(5000) << "damage";
    ++damaged;
  }
  EXPECT_EQ(damaged, 1);
  Source again = source(kAxpy);
  again.tunables = {{"AGAIN", std::int64_t{1}}};
  EXPECT_TRUE((*CpuCompiler::create(options))->compile(again)->binary);
}

TEST(CpuCompiler, AMissingCompilerIsAnErrorWithTheRemedy) {
  CpuCompilerOptions options;
  options.program = "no-such-compiler";
  const auto compiler = CpuCompiler::create(options);
  ASSERT_FALSE(compiler);
  EXPECT_EQ(compiler.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(compiler.error().message, HasSubstr("AUTOKERNEL_CXX"));
}

TEST(CpuCompiler, ClangCompilesTimedBuilds) {
  if (!find_program("clang++")) GTEST_SKIP() << "no clang++ on PATH";
  const TempDir folder = std::move(*TempDir::create("ak-clang"));
  CpuCompilerOptions options;
  options.cache = folder.path();
  options.program = "clang++";
  auto compiler = CpuCompiler::create(options);
  ASSERT_TRUE(compiler);
  Source s;
  s.text =
      "extern __shared__ float raw[];\n"
      "__global__ void k(float* x) { __shared__ float t[4]; t[1] = threadIdx.x; x[threadIdx.x] = t[1] + "
      "__half2float(__half(2.5f)); }";
  s.entries = {"k"};
  auto outcome = (*compiler)->compile(s);
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(outcome->binary) << outcome->failure->message;
  EXPECT_THAT(outcome->binary->facts.forbidden, IsEmpty());
  EXPECT_THAT(outcome->binary->facts.mutable_globals, IsEmpty());
  std::vector<float> x(3);
  float* p = x.data();
  LoadedModule(*outcome->binary).run_block(0, {&p}, {3, 1, 1});
  EXPECT_THAT(x, ElementsAre(2.5f, 3.5f, 4.5f));
  s.build = Build::kChecked;
  outcome = (*compiler)->compile(s);
  ASSERT_TRUE(outcome && outcome->failure);
  EXPECT_EQ(outcome->failure->kind, FailureKind::kUnsupported);
}

TEST(CpuCompiler, WithoutASandboxTheBinarySaysSo) {
  const TempDir folder = std::move(*TempDir::create("ak-unsafe"));
  CpuCompilerOptions options;
  options.cache = folder.path();
  options.sandbox = SandboxMode::kUnsafeOff;
  auto compiler = CpuCompiler::create(options);
  ASSERT_TRUE(compiler);
  Source s;
  s.text = kAxpy;
  s.entries = {"k"};
  auto outcome = (*compiler)->compile(s);
  ASSERT_TRUE(outcome && outcome->binary);
  EXPECT_FALSE(outcome->binary->sandboxed);
}

}  // namespace
}  // namespace ak::cpu
