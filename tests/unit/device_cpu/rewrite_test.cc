#include "autokernel/device/cpu/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace ak::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string direct(std::string_view text) {
  RewriteOutcome outcome = rewrite(text, SharedForm::kDirect);
  EXPECT_FALSE(outcome.failure) << outcome.failure->message;
  return outcome.code.text;
}
std::string reference(std::string_view text) {
  RewriteOutcome outcome = rewrite(text, SharedForm::kReference);
  EXPECT_FALSE(outcome.failure) << outcome.failure->message;
  return outcome.code.text;
}
RewriteFailure failure_of(std::string_view text) {
  RewriteOutcome outcome = rewrite(text, SharedForm::kDirect);
  EXPECT_TRUE(outcome.failure);
  return outcome.failure.value_or(RewriteFailure{});
}
/// Spaces are of no interest.
std::string squeezed(std::string text) {
  std::string out;
  for (char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out;
}

TEST(Rewrite, SharedArraysBecomeThreadLocalStorage) {
  EXPECT_EQ(squeezed(direct("void f() { __shared__ float t[4]; }")),
            "void f() { static __thread float t[4]; }");
}

TEST(Rewrite, StaticAndOtherSpecifiersMayStandOnEitherSide) {
  EXPECT_EQ(squeezed(direct("static __shared__ int a;")), "static __thread int a;");
  EXPECT_EQ(squeezed(direct("__shared__ static int a;")), "static __thread int a;");
  EXPECT_EQ(squeezed(direct("void f() { float __shared__ t[2]; }")),
            "void f() { static __thread float t[2]; }");
  EXPECT_EQ(squeezed(direct("volatile __shared__ float s[3];")), "static __thread volatile float s[3];");
}

TEST(Rewrite, AlignmentMovesToTheFrontFromAnyPosition) {
  const std::string wanted = "alignas(16) static __thread float t[4];";
  for (const char* text :
       {"__shared__ alignas(16) float t[4];", "alignas(16) __shared__ float t[4];",
        "__shared__ float alignas(16) t[4];", "static __shared__ alignas(16) float t[4];"}) {
    EXPECT_EQ(squeezed(direct(text)), wanted) << text;
  }
  EXPECT_EQ(squeezed(direct("__shared__ __align__(sizeof(int) * 4) char raw[64];")),
            "__align__(sizeof(int) * 4) static __thread char raw[64];");
}

TEST(Rewrite, AlignmentInsideAnAnonymousStructStays) {
  const std::string text = direct("void f() { __shared__ struct { alignas(8) char c; int n; } s; }");
  EXPECT_THAT(squeezed(text), HasSubstr("static __thread struct { alignas(8) char c; int n; } s;"));
}

TEST(Rewrite, TheCheckedBuildReachesSharedVariablesThroughReferences) {
  const std::string text = squeezed(reference("void f() { __shared__ float a[4], b; a[0] = b; }"));
  EXPECT_THAT(text, HasSubstr("static __thread float ak_shared_a[4], ak_shared_b;"));
  EXPECT_THAT(text, HasSubstr("auto& a = ::ak_prelude::watched(ak_shared_a);"));
  EXPECT_THAT(text, HasSubstr("auto& b = ::ak_prelude::watched(ak_shared_b); a[0] = b;"));
}

TEST(Rewrite, TheCheckedBuildRewritesUsesOfSharedVariablesOfNamespaceScope) {
  const std::string text = squeezed(reference("__shared__ float t[4];\nvoid f(S s) { t[0] = s.t; }"));
  EXPECT_THAT(text, HasSubstr("static __thread float ak_shared_t[4];"));
  EXPECT_THAT(text, HasSubstr("(::ak_prelude::watched(ak_shared_t))[0] = s.t;"));
}

TEST(Rewrite, TypesWithTemplateArgumentsAndSeveralDeclaratorsKeepTheirNames) {
  const std::string text = squeezed(reference("void f() { __shared__ Pair<int, Pair<A, B>> p[2], q; }"));
  EXPECT_THAT(text, HasSubstr("Pair<int, Pair<A, B>> ak_shared_p[2], ak_shared_q;"));
}

TEST(Rewrite, DynamicSharedMemoryInAFunctionIsAPointer) {
  EXPECT_EQ(squeezed(direct("void f() { extern __shared__ float raw[]; }")),
            "void f() { float (*const raw) = ::ak_prelude::dynamic_shared(); }");
  EXPECT_THAT(squeezed(direct("void f() { extern __shared__ __align__(16) float t[][32]; }")),
              HasSubstr("float (*const t)[32] = ::ak_prelude::dynamic_shared();"));
}

TEST(Rewrite, DynamicSharedMemoryOfNamespaceScopeIsAFunctionThatUsesCall) {
  const std::string text =
      squeezed(direct("namespace a {\nextern __shared__ float raw[];\nvoid f() { g(raw + 1); }\n}"));
  EXPECT_THAT(text, HasSubstr("static inline float (*ak_dynamic_raw())"));
  EXPECT_THAT(text, HasSubstr("g((ak_dynamic_raw()) + 1);"));
}

TEST(Rewrite, ExternCIsNamespaceScope) {
  const std::string text = direct("extern \"C\" { extern __shared__ int raw[]; void f() { raw[0] = 1; } }");
  EXPECT_THAT(text, HasSubstr("(ak_dynamic_raw())[0] = 1;"));
}

TEST(Rewrite, BracesOpenedInBothBranchesOfAConditionalCountOnce) {
  const std::string text =
      direct("#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\nextern __shared__ int raw[];\n");
  EXPECT_THAT(text, HasSubstr("ak_dynamic_raw"));
}

TEST(Rewrite, LinesKeepTheirNumbers) {
  const std::string text =
      "__shared__\n  alignas(\n16)\n float t[\n4];\nvoid f() {\n extern __shared__\n int\n raw[\n];\n}\nint "
      "last;\n";
  for (SharedForm form : {SharedForm::kDirect, SharedForm::kReference}) {
    const RewriteOutcome outcome = rewrite(text, form);
    ASSERT_FALSE(outcome.failure);
    EXPECT_EQ(std::count(outcome.code.text.begin(), outcome.code.text.end(), '\n'),
              std::count(text.begin(), text.end(), '\n'));
    EXPECT_THAT(outcome.code.text, HasSubstr("}\nint last;\n"));
  }
}

TEST(Rewrite, CommentsStringsAndRawStringsAreLeftAlone) {
  const std::string text =
      "// __shared__ asm <<<\n/* __shared__\n asm */ const char* a = \"__shared__ <<< \\\" asm\";\n"
      "const char* b = R\"x(__shared__ )\" asm <<<)x\"; char c = '\"';\nint d = 1'000'000;\n";
  EXPECT_EQ(direct(text), text);
}

TEST(Rewrite, MacrosBodiesKeepSharedForThePrelude) {
  const std::string text = "#define TILE(n) __shared__ float n[16] \\\n  ; /* more */\n";
  EXPECT_EQ(direct(text), text);
}

TEST(Rewrite, AnInitialiserOfASharedVariableIsAnErrorWithItsLine) {
  const RewriteFailure failure = failure_of("\n\nvoid f() { __shared__ int a = 3; }");
  EXPECT_EQ(failure.kind, FailureKind::kCompile);
  EXPECT_EQ(failure.line, 3);
  EXPECT_THAT(failure.message, HasSubstr("initialiser"));
}

TEST(Rewrite, SharedParametersAreAnError) {
  EXPECT_THAT(failure_of("void f(__shared__ float* p, int n) { }").message, HasSubstr("not allowed here"));
}

TEST(Rewrite, LaunchesAreAnErrorThatNamesTheFrontMatter) {
  const RewriteFailure failure = failure_of("void g() {\n  k<<<1, 2>>>(3);\n}");
  EXPECT_EQ(failure.line, 2);
  EXPECT_THAT(failure.message, HasSubstr("[[launch]]"));
}

TEST(Rewrite, ShiftsAreNoLaunches) { EXPECT_EQ(direct("int a = 1 << 2 < 3;"), "int a = 1 << 2 < 3;"); }

TEST(Rewrite, InlineAssemblyIsReplacedEverywhere) {
  EXPECT_THAT(direct("void f() { asm volatile(\"nop\"); }"), HasSubstr("AK_INLINE_PTX volatile"));
  EXPECT_THAT(direct("#define A __asm__(\"\")\n"), HasSubstr("#define A AK_INLINE_PTX("));
  EXPECT_THAT(direct("#undef asm\n"), Not(HasSubstr("#undef asm")));
  EXPECT_THAT(direct("void f() { as\\\nm(\"\"); }"), HasSubstr("AK_INLINE_PTX"));
}

TEST(Rewrite, ThreadLocalStorageOfTheKernelsOwnIsRefused) {
  EXPECT_THAT(failure_of("thread_local int a;").message, HasSubstr("thread_local"));
  EXPECT_THAT(failure_of("static __thread int a;").message, HasSubstr("__thread"));
}

TEST(Rewrite, ConstantMemoryIsConstOnce) {
  EXPECT_EQ(squeezed(direct("__constant__ float c[2] = {1, 2};")), "const float c[2] = {1, 2};");
  EXPECT_EQ(squeezed(direct("const __constant__ float c = 1;")), "const float c = 1;");
  EXPECT_EQ(squeezed(direct("__constant__ constexpr float c = 1;")), "constexpr float c = 1;");
}

TEST(Rewrite, IncludesOutsideTheHeadersAreRefusedByTheSandboxCheck) {
  for (const char* text :
       {"#include \"/etc/passwd\"\n", "#include </proc/self/environ>\n", "#include \"../../a\"\n",
        "#include \"a/../../b\"\n", "  #  include_next \"/etc/passwd\"\n"}) {
    const RewriteFailure failure = failure_of(text);
    EXPECT_EQ(failure.check, "compile.sandbox") << text;
  }
}

TEST(Rewrite, FindsKernelsIncludesAndWhatSuspendsThreads) {
  const RewriteOutcome outcome = rewrite(
      "#include <cuda_fp16.h>\n#include \"autokernel/device/convert.cuh\"\n"
      "extern \"C\" __global__ void __launch_bounds__(256) first(float* x) { __syncthreads(); }\n"
      "template <int N> __global__ __attribute__((noinline)) void second(volatile int* p) {}\n",
      SharedForm::kDirect);
  EXPECT_THAT(outcome.code.kernels, ElementsAre("first", "second"));
  EXPECT_THAT(outcome.code.includes, ElementsAre("cuda_fp16.h", "autokernel/device/convert.cuh"));
  EXPECT_TRUE(outcome.code.may_block);
  EXPECT_TRUE(outcome.code.has_volatile);
  EXPECT_FALSE(outcome.code.kernels_from_macros);
}

TEST(Rewrite, APlainKernelIsKnownToBePlain) {
  const RewriteOutcome outcome =
      rewrite("__global__ void k(float* x) { x[threadIdx.x] = 1; }\nvoid g() { asm volatile(\"\"); }",
              SharedForm::kDirect);
  EXPECT_FALSE(outcome.code.may_block);
  EXPECT_FALSE(outcome.code.has_volatile);
}

TEST(Rewrite, AGlobalIndexOf32BitsIsNoticed) {
  const auto noticed = [](std::string_view text) {
    return rewrite(text, SharedForm::kDirect).code.has_global_index;
  };
  EXPECT_TRUE(noticed("int i = blockIdx.x * blockDim.x + threadIdx.x;"));
  EXPECT_TRUE(noticed("int i = threadIdx.x + blockDim.x * blockIdx.x;"));
  EXPECT_FALSE(noticed("size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;"));
  EXPECT_FALSE(noticed("int i = blockIdx.x * blockIdx.x; // blockIdx.x * blockDim.x"));
}

TEST(Rewrite, KernelsInMacrosAreNoticed) {
  const RewriteOutcome outcome = rewrite("#define K(n) __global__ void n() {}\nK(a)\n", SharedForm::kDirect);
  EXPECT_TRUE(outcome.code.kernels_from_macros);
  EXPECT_THAT(outcome.code.kernels, IsEmpty());
}

TEST(Rewrite, UnfinishedTextsEndQuietly) {
  for (const char* text :
       {"/* open", "\"open", "R\"(open", "R\"", "'", "#", "#include", "__global__ void", "{", "((("}) {
    EXPECT_FALSE(rewrite(text, SharedForm::kReference).failure) << text;
  }
}

}  // namespace
}  // namespace ak::cpu
