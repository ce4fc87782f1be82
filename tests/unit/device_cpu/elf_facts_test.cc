#include "autokernel/device/cpu/elf_facts.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>

#include "autokernel/device/cpu/elf_reader.h"
#include "compiled_kernel.h"

namespace ak::cpu {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ElfFactsTest : public CompilerFixture {
 protected:
  CodeFacts facts_of(std::string_view text) {
    auto made = binary(source(text));
    return made ? made->facts : CodeFacts{};
  }
};

TEST_F(ElfFactsTest, MutableGlobalsAreReportedByTheirNames) {
  EXPECT_THAT(
      facts_of("__device__ int counter;\n__global__ void k(int* x) { x[0] = ++counter; }").mutable_globals,
      ElementsAre("counter"));
  EXPECT_THAT(facts_of("__global__ void k(int* x) { static int calls; x[0] = ++calls; }").mutable_globals,
              ElementsAre("k(int*)::calls"));
  EXPECT_THAT(
      facts_of("struct S { static int n; };\nint S::n = 5;\n__global__ void k(int* x) { x[0] = S::n++; }")
          .mutable_globals,
      ElementsAre("S::n"));
}

TEST_F(ElfFactsTest, MutableStateInAnOddSectionIsReportedToo) {
  EXPECT_THAT(facts_of("__attribute__((section(\".odd,\\\"aw\\\",@progbits#\"))) int hidden = 1;\n"
                       "__global__ void k(int* x) { x[0] = hidden++; }")
                  .mutable_globals,
              ElementsAre("hidden"));
  EXPECT_THAT(facts_of("__attribute__((section(\".odd\"))) int hidden = 1;\n"
                       "__global__ void k(int* x) { x[0] = hidden++; }")
                  .mutable_globals,
              ElementsAre("hidden"));
}

TEST_F(ElfFactsTest, ConstantTablesAreNoState) {
  const CodeFacts facts = facts_of(
      "__constant__ float weights[4] = {1, 2, 3, 4};\n__device__ const int table[3] = {1, 2, 3};\n"
      "__global__ void k(float* x, int i) { x[0] = weights[i] + table[i % 3]; }");
  EXPECT_THAT(facts.mutable_globals, IsEmpty());
  EXPECT_THAT(facts.forbidden, IsEmpty());
}

TEST_F(ElfFactsTest, ConstructorsAreForbidden) {
  for (const char* text :
       {"__attribute__((constructor)) void early() { __builtin_trap(); }\n__global__ void k() {}",
        "struct S { int v; S() : v(__builtin_ctz(clock_)) {} static int clock_; };\nint S::clock_ = 3;\nS "
        "s;\n"
        "__global__ void k(int* x) { x[0] = s.v; S::clock_++; }",
        "extern \"C\" void _init_me() {}\n__attribute__((section(\".init_array\"), used)) void (*p)() = "
        "_init_me;\n"
        "__global__ void k() {}",
        "__attribute__((destructor)) void late() { __builtin_trap(); }\n__global__ void k() {}"}) {
    EXPECT_THAT(facts_of(text).forbidden, Contains("static constructor or destructor")) << text;
  }
}

TEST_F(ElfFactsTest, IfuncsAreForbidden) {
  const CodeFacts facts = facts_of(
      "static int one() { return 1; }\nextern \"C\" { static int (*pick())() { return one; } }\n"
      "extern \"C\" __attribute__((ifunc(\"pick\"))) int chosen();\n__global__ void k(int* x) { x[0] = "
      "chosen(); }");
  EXPECT_THAT(facts.forbidden, Contains("ifunc"));
}

TEST_F(ElfFactsTest, ImportsOutsideTheListAreForbidden) {
  const CodeFacts facts = facts_of(
      "extern \"C\" void _exit(int);\n#include <stdio.h>\n__global__ void k(int n) { printf(\"%d\", n); "
      "_exit(0); }");
  EXPECT_THAT(facts.imports, Contains("_exit"));
  EXPECT_THAT(facts.forbidden, Contains("import of `_exit`"));
  EXPECT_THAT(facts.forbidden, Contains(AnyOf("import of `printf`", "import of `putchar`")));
}

TEST_F(ElfFactsTest, MathAndCopiesAreAllowed) {
  const CodeFacts facts = facts_of(
      "__global__ void k(float* x, double* y, int n) { x[0] = tanhf(x[1]) + erff(x[2]) + powf(x[3], x[4]); "
      "y[0] = exp(y[1]);\n"
      "  memcpy(x + 8, x, n); }");
  EXPECT_THAT(facts.imports, Contains("tanhf"));
  EXPECT_THAT(facts.imports, Contains("exp"));
  EXPECT_THAT(facts.forbidden, IsEmpty());
}

TEST_F(ElfFactsTest, ExportsOfTheirOwnAreForbidden) {
  EXPECT_THAT(facts_of("extern \"C\" __attribute__((visibility(\"default\"), externally_visible, used)) int "
                       "memcpy_(int x) { return x; }\n"
                       "__global__ void k() {}")
                  .forbidden,
              Contains("export of `memcpy_`"));
}

TEST_F(ElfFactsTest, ThreadLocalStateHiddenInAMacroIsSharedMemoryThatCounts) {
  const auto made = binary(source(
      "#define STATE __shared__\n__global__ void k(int* x) { STATE int n[10]; x[0] = n[threadIdx.x]++; }"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->entries[0].static_shared_bytes, 40u);
}

TEST(ElfFacts, TheListOfImportsIsClosed) {
  EXPECT_TRUE(is_allowed_import("expf"));
  EXPECT_TRUE(is_allowed_import("exp"));
  EXPECT_TRUE(is_allowed_import("ak_rt_barrier"));
  for (const char* name : {"malloc", "free", "printf", "vprintf", "write", "syscall", "mmap", "f", "",
                           "ak_rt_", "dlsym", "__asan_init"}) {
    EXPECT_FALSE(is_allowed_import(name)) << name;
  }
}

TEST_F(ElfFactsTest, DamagedFilesAreErrorsAtEveryByte) {
  const auto made =
      binary(source("__global__ void k(float* x) { __shared__ float t[3]; t[0] = x[0]; x[1] = t[0]; }"));
  ASSERT_TRUE(made);
  const std::string good = made->bytes;
  ASSERT_TRUE(elf_facts(good, {"k"}, Build::kTimed));
  for (std::size_t size = 0; size < good.size(); size += 97) {
    [[maybe_unused]] const auto cut = elf_facts(good.substr(0, size), {"k"}, Build::kTimed);
    EXPECT_TRUE(size > 64 || !cut);
  }
  for (std::size_t at = 0; at < good.size(); at += 13) {
    std::string bad = good;
    bad[at] = static_cast<char>(~bad[at]);
    [[maybe_unused]] const auto read =
        elf_facts(bad, {"k"}, Build::kTimed);  // an answer or an error, never a crash
    [[maybe_unused]] const auto written = write_shared_layout(bad, ElfFacts{});
  }
}

TEST(ElfReader, WhatIsNoSharedObjectIsAnError) {
  EXPECT_FALSE(read_elf(""));
  EXPECT_FALSE(read_elf(std::string(64, '\0')));
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  const auto result = read_elf(std::string_view(reinterpret_cast<const char*>(&header), sizeof(header)));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("not a shared object"));
  header.e_type = ET_DYN;
  header.e_phoff = ~0ull - 8;
  header.e_phnum = 0xffff;
  header.e_phentsize = sizeof(Elf64_Phdr);
  EXPECT_FALSE(read_elf(std::string_view(reinterpret_cast<const char*>(&header), sizeof(header))));
}

}  // namespace
}  // namespace ak::cpu
