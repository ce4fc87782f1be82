#include "autokernel/device/cuda/ptx_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ak::cuda {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr const char* kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

CodeFacts facts_of(const std::string& ptx, std::vector<std::string> declared = {"k"},
                   std::uint64_t zeroed_bytes = 0) {
  const auto facts = read_ptx(kHead + ptx, declared, zeroed_bytes);
  EXPECT_TRUE(facts.has_value()) << facts.error().message;
  return facts.value_or(CodeFacts{});
}

/// A kernel `k` with one pointer and this body; `module` stands before it.
CodeFacts facts_of_body(const std::string& body, const std::string& module = "") {
  return facts_of(module +
                  ".visible .entry k(.param .u64 .ptr .global .align 1 k_param_0)\n{\n.reg .b64 %rd<9>;\n" +
                  body + "\nret;\n}\n");
}

TEST(PtxFacts, AnHonestKernelHasNothingForbidden) {
  const CodeFacts facts = facts_of_body(
      "ld.param.u64 %rd1, [k_param_0];\n@%p1 bra $L__BB0_2;\n$L__BB0_2:\nbar.sync 0;\n"
      "st.global.v2.f32 [%rd1], {%f1, %f2};");
  EXPECT_THAT(facts.forbidden, IsEmpty());
  EXPECT_THAT(facts.mutable_globals, IsEmpty());
  EXPECT_THAT(facts.imports, IsEmpty());
  EXPECT_TRUE(facts.has_barriers);
}

TEST(PtxFacts, PrintfAndTheDeviceHeapAreForbidden) {
  const CodeFacts facts = facts_of(
      ".extern .func  (.param .b32 func_retval0) vprintf\n(\n.param .b64 a,\n.param .b64 b\n)\n;\n"
      ".extern .func (.param .b64 r) malloc (.param .b64 a);\n.extern .func free (.param .b64 a);\n");
  EXPECT_THAT(facts.forbidden,
              UnorderedElementsAre(".extern .func vprintf", ".extern .func malloc", ".extern .func free"));
  EXPECT_THAT(facts.imports, UnorderedElementsAre("vprintf", "malloc", "free"));
}

TEST(PtxFacts, RegistersThatTellLaunchesApartAreForbidden) {
  EXPECT_THAT(facts_of_body("mov.u64 %rd1, %globaltimer;").forbidden, ElementsAre("%globaltimer"));
  EXPECT_THAT(facts_of_body("mov.u32 %r1, %globaltimer_lo;").forbidden, ElementsAre("%globaltimer"));
  EXPECT_THAT(facts_of_body("mov.u64 %rd1, %gridid;").forbidden, ElementsAre("%gridid"));
  EXPECT_THAT(facts_of_body("mov.b32 %r1, %envreg31;").forbidden, ElementsAre("%envreg"));
}

TEST(PtxFacts, NeitherLayoutNorCommentsHideARegister) {
  EXPECT_THAT(facts_of_body("mov.u64/*x*/%rd1\n,\n%gridid\n;").forbidden, ElementsAre("%gridid"));
  EXPECT_THAT(facts_of_body("{{mov.u64 %rd1,%gridid;}}").forbidden, ElementsAre("%gridid"));
  EXPECT_THAT(facts_of_body(".loc 1 2 3 mov.u64 %rd1, %gridid;").forbidden, ElementsAre("%gridid"));
  EXPECT_THAT(facts_of_body("// mov.u64 %rd1, %gridid;\n/* %gridid */").forbidden, IsEmpty());
}

TEST(PtxFacts, AUsersOwnRegisterWithALongerNameIsNotMistaken) {
  EXPECT_THAT(facts_of_body("mov.u64 %rd1, %gridids;").forbidden, IsEmpty());
}

TEST(PtxFacts, EntriesThatWereNotDeclaredAreForbidden) {
  const std::string two = ".visible .entry k(){ret;}\n.entry other(.param .u32 p){ret;}\n";
  EXPECT_THAT(facts_of(two).forbidden, ElementsAre(HasSubstr(".entry other")));
  EXPECT_THAT(facts_of(two, {"k", "other"}).forbidden, IsEmpty());
}

TEST(PtxFacts, DeviceFunctionsNeedNoDeclaration) {
  const CodeFacts facts =
      facts_of(".func (.param .b32 r) helper(.param .b32 a) {ret;}\n.visible .entry k(){ret;}\n");
  EXPECT_THAT(facts.forbidden, IsEmpty());
}

TEST(PtxFacts, AnUninitializedArrayIsState) {
  EXPECT_THAT(facts_of(".visible .global .align 4 .b8 cache[1024];").mutable_globals,
              ElementsAre(HasSubstr("cache")));
  EXPECT_THAT(facts_of_body(".global .u32 hidden[1];").mutable_globals, ElementsAre(HasSubstr("hidden")));
}

TEST(PtxFacts, AnUninitializedScalarIsStateWhereItIsWritten) {
  constexpr const char* kCounter = ".global .align 4 .u32 counter;\n";
  EXPECT_THAT(facts_of_body("atom.global.add.u32 %r1, [counter], 1;", kCounter).mutable_globals,
              ElementsAre("counter: written by atom.global.add.u32"));
  EXPECT_THAT(facts_of_body("mov.u64 %rd1, counter;\nst.local.u64 [%rd2], %rd1;", kCounter).mutable_globals,
              ElementsAre(HasSubstr("leaves")));
  EXPECT_THAT(facts_of_body(".global .u32 hidden;\nst.global.u32 [hidden], %r1;").mutable_globals,
              ElementsAre(HasSubstr("hidden")));
  EXPECT_THAT(facts_of_body("ld.global.u32 %r1, [counter];", kCounter).mutable_globals, IsEmpty());
  EXPECT_THAT(facts_of(kCounter).mutable_globals, IsEmpty());  // constexpr int counter = 0;
}

TEST(PtxFacts, WhatTheCubinHasBeyondThePtxsScalarsIsState) {
  constexpr const char* kZeros = ".global .align 1 .u8 no;\n.global .align 8 .f64 zero;\n";
  EXPECT_THAT(facts_of(kZeros, {"k"}, 16).mutable_globals, IsEmpty());
  EXPECT_THAT(facts_of(kZeros, {"k"}, 33).mutable_globals, ElementsAre(".nv.global: 33 bytes"));
  EXPECT_THAT(facts_of("", {"k"}, 1).mutable_globals, ElementsAre(".nv.global: 1 bytes"));
}

TEST(PtxFacts, SeveralVariablesOfOneStatementAreAllSeen) {
  EXPECT_THAT(facts_of(".global .u32 a = 1, b[2], c[2] = {1, 2};").mutable_globals,
              ElementsAre(HasSubstr("b:")));
  EXPECT_THAT(
      facts_of_body("st.global.u32 [b], %r1;", ".global .u32 a = 1, b, c[2] = {1, 2};").mutable_globals,
      ElementsAre(HasSubstr("b:")));
}

TEST(PtxFacts, AVariableOfAnotherModuleIsForbidden) {
  EXPECT_THAT(facts_of(".extern .global .u32 elsewhere;").forbidden,
              ElementsAre(".extern .global elsewhere"));
}

TEST(PtxFacts, DynamicSharedMemoryIsNoState) {
  const CodeFacts facts = facts_of(".extern .shared .align 16 .b8 dyn[];");
  EXPECT_THAT(facts.forbidden, IsEmpty());
  EXPECT_THAT(facts.mutable_globals, IsEmpty());
}

constexpr const char* kTable = ".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};\n";

TEST(PtxFacts, ATableThatIsOnlyReadIsNoState) {
  const CodeFacts facts = facts_of_body(
      "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, %rd3;\nld.global.nc.u32 %r1, [%rd2+4];\nld.global.u32 %r2, "
      "[table];\n"
      "st.global.u32 [%rd4], %r1;",
      kTable);
  EXPECT_THAT(facts.mutable_globals, IsEmpty());
}

TEST(PtxFacts, AStoreIntoATableIsStateHoweverTheAddressIsMade) {
  for (const char* body : {
           "st.global.u32 [table+4], %r1;",
           "mov.u64 %rd1, table;\nst.global.u32 [%rd1], %r1;",
           "mov.u64 %rd1, table;\ncvta.global.u64 %rd2, %rd1;\nadd.s64 %rd3, %rd2, 4;\nst.u32 [%rd3], %r1;",
           "st.u32 [%rd3], %r1;\nadd.s64 %rd3, %rd2, 4;\nmov.u64 %rd2, table;",
           "mov.u64 %rd1, table;\natom.global.add.u32 %r4, [%rd1], 1;",
           "mov.u64 %rd1, table;\n@!%p1 red.global.add.u32 [%rd1], 1;",
           "mov.u64 %rd1, table;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd2], 16;",
           "mov.u64 %rd1, table;\nmov.b64 {%r1, %r2}, %rd1;\nmov.b64 %rd4, {%r1, %r2};\nst.u32 [%rd4], %r5;",
           "mov.u64 %rd1, table;\nselp.b64 %rd2, %rd1, %rd3, %p1;\nst.u32 [%rd2], %r5;",
       }) {
    EXPECT_THAT(facts_of_body(body, kTable).mutable_globals, ElementsAre(HasSubstr("table"))) << body;
  }
}

TEST(PtxFacts, AnAddressThatCannotBeFollowedCountsAsWritten) {
  for (const char* body : {
           "mov.u64 %rd1, table;\nst.local.u64 [%rd2], %rd1;",
           "mov.u64 %rd1, table;\n{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\ncall.uni f, "
           "(param0);\n}",
       }) {
    EXPECT_THAT(facts_of_body(body, kTable).mutable_globals, ElementsAre(HasSubstr("leaves"))) << body;
  }
  EXPECT_THAT(facts_of(std::string(kTable) + ".global .u64 pointer = generic(table);").mutable_globals,
              ElementsAre(HasSubstr("initializer")));
}

TEST(PtxFacts, CopyingFromATableToSharedMemoryOnlyReadsIt) {
  EXPECT_THAT(facts_of_body("mov.u64 %rd1, table;\ncp.async.ca.shared.global [%r1], [%rd1], 16;", kTable)
                  .mutable_globals,
              IsEmpty());
}

TEST(PtxFacts, TheSameRegisterNameInAnotherKernelIsAnotherRegister) {
  const CodeFacts facts = facts_of(std::string(kTable) +
                                       ".entry k(){mov.u64 %rd1, table;\nld.global.u32 %r1, [%rd1];}\n"
                                       ".entry l(){st.global.u32 [%rd1], %r1;}\n",
                                   {"k", "l"});
  EXPECT_THAT(facts.mutable_globals, IsEmpty());
}

TEST(PtxFacts, ConstantMemoryIsNoStateUnlessItIsWritten) {
  EXPECT_THAT(facts_of_body("ld.const.f32 %f1, [c];", ".const .align 4 .b8 c[16];\n").mutable_globals,
              IsEmpty());
  EXPECT_THAT(facts_of_body("mov.u64 %rd1, c;\ncvta.const.u64 %rd2, %rd1;\nst.f32 [%rd2], %f1;",
                            ".const .align 4 .b8 c[16];\n")
                  .mutable_globals,
              ElementsAre(HasSubstr("c:")));
}

TEST(PtxFacts, NotesWhatIsWorthKnowing) {
  const CodeFacts facts = facts_of_body(
      "mov.u64 %rd1, %clock64;\nmov.u32 %r1, %smid;\nnanosleep.u32 10;\nprefetch.global.L2::evict_last "
      "[%rd1];\n"
      "createpolicy.fractional.L2::evict_last.b64 %rd2, 1.0;\ndiscard.global.L2 [%rd1], 128;\n"
      "ex2.approx.ftz.f32 %f1, %f2;\nfence.acq_rel.sys;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1}, {%r1}, {%r2}, {%f1};");
  for (const char* note :
       {"%clock", "%smid", "nanosleep", "prefetch", "evict_last", "createpolicy", "discard", "approx", "ftz",
        "sys", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"}) {
    EXPECT_THAT(facts.noted, Contains(note));
  }
  EXPECT_THAT(facts.forbidden, IsEmpty());
}

TEST(PtxFacts, NamesThatLookLikeHintsAreNotNoted) {
  EXPECT_THAT(facts_of(".visible .entry prefetch(){ret;}", {"prefetch"}).noted, IsEmpty());
}

TEST(PtxFacts, DebugSectionsAndLineNumbersAreSkipped) {
  const CodeFacts facts = facts_of(
      ".visible .entry k()\n{\n.loc 1 7 3\nmov.u64 %rd1, %tid.x;\n.loc 1 8 1, function_name $L_info+4, "
      "inlined_at 1 2 3\n"
      "ret;\n}\n.file 1 \"a \\\" b.cu\"\n.section .debug_str\n{\n$L_info:\n.b8 95,90\n.b8 0\n}\n");
  EXPECT_THAT(facts.forbidden, IsEmpty());
  EXPECT_FALSE(facts.has_barriers);
}

TEST(PtxFacts, TextThatIsCutOffIsAnError) {
  for (const char* ptx : {".entry k(){", "}", "/* never ends", ".file 1 \"never ends", ".global .u32 x",
                          ".entry k(){ .entry l(){} }"}) {
    EXPECT_FALSE(read_ptx(ptx, {}, 0).has_value()) << ptx;
  }
}

}  // namespace
}  // namespace ak::cuda
