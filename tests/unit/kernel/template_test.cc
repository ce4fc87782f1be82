#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::HasSubstr;

std::string template_text(std::string_view code) {
  return "/* autokernel\ntemplate = true\ndtypes = [\"f32\"]\nabout = \"a {block_size} square\"\n[tunables]\n"
         "block_size = [16, 32]\nFAST = [false, true]\n[defaults]\nblock_size = 16\nFAST = true\n[[launch]]\n"
         "entry = \"f\"\ngrid = [1]\nblock = [\"block_size\", \"block_size\"]\nargs = []\n*/\n" +
         std::string(code);
}

std::string rendered(std::string_view code, std::int64_t block_size = 32) {
  const KernelFile file = parsed(template_text(code));
  const Result<std::string> text = file.render(config_of({{"block_size", block_size}, {"FAST", true}}));
  EXPECT_TRUE(text) << text.error().message;
  return text ? text->substr(text->find("*/\n") + 3) : "";
}

TEST(Template, PlaceholdersOfTunablesAreFilled) {
  EXPECT_EQ(rendered("__global__ void f() { float t[{block_size}][{block_size}]; if ({FAST}) {} }"),
            "__global__ void f() { float t[32][32]; if (true) {} }");
}

TEST(Template, EveryOtherBraceOfCppStays) {
  const std::string code =
      "__global__ void f() { int x{0}; int y{VEC}; A{{1}}; struct {} z; {FAST } { FAST} {{}} }{";
  EXPECT_EQ(rendered(code + "{FAST}"), code + "true");
}

TEST(Template, DoubledBracesAreNoEscape) {
  EXPECT_EQ(rendered("__global__ void f() { A a{{block_size}}; /*{FAST}*/ }"),
            "__global__ void f() { A a{32}; /*true*/ }");
}

TEST(Template, TheFrontMatterStaysAsItIsAndSoDoLineNumbers) {
  const KernelFile file = parsed(template_text("__global__ void f() {\n{FAST};\n}\n"));
  const Result<std::string> text = file.render(file.defaults);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("a {block_size} square"));
  EXPECT_EQ(std::count(text->begin(), text->end(), '\n'),
            std::count(file.text.begin(), file.text.end(), '\n'));
}

TEST(Template, AFileThatIsNoneIsLeftAlone) {
  const KernelFile file =
      parsed(plain_text("[tunables]\nVEC = [1]\n[defaults]\nVEC = 1\n") + "int x{VEC};\n");
  EXPECT_EQ(*file.render(file.defaults), file.text);
}

TEST(Template, AMissingValueIsAnError) {
  const KernelFile file = parsed(template_text("__global__ void f() { {FAST}; }"));
  const Result<std::string> text = file.render(config_of({{"FAST", true}}));
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("no value for block_size"));
}

TEST(Template, ATunableWithoutPlaceholderOrUseIsAnErrorThatShowsThePlaceholder) {
  EXPECT_THAT(error_of(template_text("__global__ void f() { {fast}; }")),
              AllOf(HasSubstr("test.cu:7:1: FAST changes nothing"), HasSubstr("write {FAST} where")));
}

}  // namespace
}  // namespace ak::kernel
