#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autokernel/core/binary.h"

namespace ak {
namespace {

Source sample() {
  Source source;
  source.name = "softmax.cu";
  source.text = "__global__ void f() {}\n";
  source.dtype = DType::kF16;
  source.flags = {{"CAUSAL", 1}, {"HAS_MASK", 0}};
  source.tunables = {{"THREADS", std::int64_t{256}}, {"FAST", true}};
  source.specialised = {{"N", 128}};
  source.entries = {"f"};
  source.arch = "sm_90a";
  source.max_registers = 64;
  source.build = Build::kChecked;
  return source;
}

Binary compiled() {
  Binary binary;
  binary.format = "elf";
  binary.arch = "cpu";
  binary.bytes = std::string(
      "\x7f"
      "ELF\0\xff",
      6);
  binary.ptx = ".version 8";
  binary.entries = {{.name = "f",
                     .param_bytes = {8, 4},
                     .registers = 32,
                     .local_bytes = 16,
                     .static_shared_bytes = 1024,
                     .block = {128, 1, 1},
                     .hidden_args = {"g"}}};
  binary.facts = {.imports = {"expf"},
                  .mutable_globals = {"cache"},
                  .forbidden = {"vprintf"},
                  .noted = {"clock"},
                  .has_barriers = true};
  binary.log = "warning: unused";
  binary.sandboxed = false;
  binary.compile_s = 0.25;
  binary.from_cache = true;
  return binary;
}

TEST(Source, RoundTripsThroughJson) {
  const auto back = source_from_json(to_json(sample()), "source");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(sample()));
  EXPECT_EQ(hash(*back), hash(sample()));
  EXPECT_EQ(back->max_registers, 64);
}

TEST(Source, WithoutARegisterLimitItStaysWithout) {
  Source source = sample();
  source.max_registers.reset();
  EXPECT_EQ(source_from_json(to_json(source), "source")->max_registers, std::nullopt);
}

TEST(Source, NameIsNoPartOfTheHash) {
  Source renamed = sample();
  renamed.name = "other.cu";
  EXPECT_EQ(hash(renamed), hash(sample()));
}

TEST(Source, HashDependsOnEverythingThatDecidesTheBits) {
  std::vector<Source> others(10, sample());
  others[0].text += " ";
  others[1].dtype = DType::kF32;
  others[2].flags["CAUSAL"] = 0;
  others[3].tunables["THREADS"] = std::int64_t{128};
  others[4].specialised.clear();
  others[5].entries.push_back("g");
  others[6].arch = "sm_80";
  others[7].max_registers.reset();
  others[8].build = Build::kTimed;
  others[9].language = "triton";
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(hash(others[i]), hash(sample())) << i;
}

TEST(Source, TextsThatAreNotUtf8HaveHashesOfTheirOwn) {
  Source a = sample(), b = sample();
  a.text = "\xfe";
  b.text = "\xff";
  EXPECT_NE(hash(a), hash(b));
}

TEST(Binary, RoundTripsThroughJsonWithItsBytes) {
  const auto back = binary_from_json(to_json(compiled()), "binary");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->bytes, compiled().bytes);
  EXPECT_EQ(to_json(*back), to_json(compiled()));
  EXPECT_EQ(back->entries[0].block, compiled().entries[0].block);
}

TEST(Binary, BytesThatAreNoHexadecimalDigitsAreRefused) {
  for (const char* bytes : {"0", "0g", "AB", "\xc3\xa4"}) {
    Json json = to_json(compiled());
    json["bytes"] = bytes;
    EXPECT_FALSE(binary_from_json(json, "binary")) << bytes;
  }
}

TEST(Binary, ABlockHasThreeSizesOf32Bits) {
  for (const Json& block : {Json{1, 1}, Json{1, 1, -1}, Json{1, 1, 4294967296}, Json{1, 1, 1.5}}) {
    Json json = to_json(compiled());
    json["entries"][0]["block"] = block;
    EXPECT_FALSE(binary_from_json(json, "binary")) << block;
  }
}

}  // namespace
}  // namespace ak
