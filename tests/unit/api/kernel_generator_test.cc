#include "autokernel/kernel_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ak {
namespace {

using testing::HasSubstr;

GeneratorOptions convolution() {
  GeneratorOptions options;
  options.kernel_file = "conv2d/kernels/naive.cu";
  options.problem = "H=64,W=64,R=3,S=3";
  return options;
}

/// y = x, one thread an element; softmax gives the names of the tensors only.
GeneratorOptions copy_template() {
  GeneratorOptions options;
  options.op = "softmax";
  options.problem = "ROWS=4,COLS=100";
  options.text =
      "extern \"C\" __global__ void copy(const scalar_t* x, scalar_t* y, int n) {\n"
      "  int i = blockIdx.x * {threads} + threadIdx.x;\n  if (i < n) y[i] = x[i];\n}\n";
  options.launch = {"copy", {"ceil_div(ROWS * COLS, threads)"}, {"threads"}, {"x", "y", "ROWS * COLS"}};
  options.parameters = {{"threads", {64, 128, 2048}}};
  return options;
}

Generated generate(GeneratorOptions options) {
  auto generator = KernelGenerator::create(std::move(options));
  EXPECT_TRUE(generator) << generator.error().message;
  auto generated = generator->generate();
  EXPECT_TRUE(generated) << generated.error().message;
  return std::move(*generated);
}

std::string error_of(GeneratorOptions options) {
  auto generator = KernelGenerator::create(std::move(options));
  EXPECT_FALSE(generator);
  if (generator) return "";
  EXPECT_EQ(generator.error().code, ErrorCode::kUsage);
  return generator.error().message;
}

std::vector<std::string> descriptions(const Generated& generated) {
  std::vector<std::string> out;
  for (const KernelCandidate& each : generated.candidates) out.push_back(each.description());
  return out;
}

TEST(KernelGenerator, ABlockOf64By64ThreadsIsInvalidWithItsReason) {
  Generated generated = generate(convolution());
  EXPECT_THAT(descriptions(generated), testing::ElementsAre("block_size=16", "block_size=32"));
  ASSERT_EQ(generated.invalid.size(), 1U);
  EXPECT_EQ(generated.invalid_count, 1U);
  EXPECT_EQ(std::get<std::int64_t>(generated.invalid[0].parameters.at("block_size")), 64);
  EXPECT_THAT(generated.invalid[0].reason,
              testing::AllOf(HasSubstr("64 x 64"), HasSubstr("4096"), HasSubstr("1024")));
}

TEST(KernelGenerator, TheDefaultsAreTheFirstGuess) {
  EXPECT_EQ(descriptions(generate(convolution())).front(), "block_size=16");
}

TEST(KernelGenerator, ParametersNarrowTheValuesOfAFile) {
  GeneratorOptions options = convolution();
  options.parameters = {{"block_size", {32}}};
  Generated generated = generate(options);
  EXPECT_THAT(descriptions(generated), testing::ElementsAre("block_size=32"));
  EXPECT_EQ(generated.invalid_count, 0U);
}

TEST(KernelGenerator, NoValidCandidateIsAnAnswerWithItsReasons) {
  GeneratorOptions options = convolution();
  options.parameters = {{"block_size", {64}}};
  Generated generated = generate(options);
  EXPECT_TRUE(generated.candidates.empty());
  ASSERT_EQ(generated.invalid.size(), 1U);
  EXPECT_EQ(generated.invalid_count, 1U);
}

TEST(KernelGenerator, TheLimitsAreThoseOfTheArchitecture) {
  GeneratorOptions options = convolution();
  options.architecture = "sm_90a";
  Generated generated = generate(options);
  EXPECT_EQ(generated.candidates.size(), 2U);
  EXPECT_THAT(generated.invalid.at(0).reason, HasSubstr("1024"));
}

TEST(KernelGenerator, TheCodeOfATemplateHasItsPlaceholdersFilled) {
  Generated generated = generate(convolution());
  auto code = generated.candidates[1].code();
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_THAT(*code, HasSubstr("blockIdx.x * 32 + threadIdx.x"));
  EXPECT_THAT(*code, testing::Not(HasSubstr("* {block_size}")));
}

TEST(KernelGenerator, TheKernelFileOfACandidateHasItsParametersAsDefaults) {
  Generated generated = generate(convolution());
  auto text = generated.candidates[1].kernel_file();
  ASSERT_TRUE(text) << text.error().message;
  GeneratorOptions again = convolution();
  again.kernel_file.clear();
  again.text = *text;
  EXPECT_EQ(descriptions(generate(again)).front(), "block_size=32");
}

TEST(KernelGenerator, CandidatesOutliveTheirGenerator) {
  std::vector<KernelCandidate> candidates = generate(convolution()).candidates;
  EXPECT_THAT(candidates.front().problem(), HasSubstr("conv2d"));
}

TEST(KernelGenerator, ABareTemplateIsGeneratedFromItsLaunchAndParameters) {
  Generated generated = generate(copy_template());
  EXPECT_EQ(generated.candidates.size(), 2U);
  EXPECT_EQ(generated.invalid_count, 1U);
  EXPECT_THAT(generated.invalid.at(0).reason, HasSubstr("2048"));
}

TEST(KernelGenerator, ABareTemplateNeedsAnOp) {
  GeneratorOptions options = copy_template();
  options.op.clear();
  EXPECT_THAT(error_of(options), HasSubstr("op"));
}

TEST(KernelGenerator, QuotesInALaunchDoNotLeaveTheirString) {
  GeneratorOptions options = copy_template();
  options.launch.args = {"x\"]\n[evil]\nkey = [\""};
  EXPECT_THAT(error_of(options), testing::Not(HasSubstr("unknown key 'evil'")));
}

TEST(KernelGenerator, AnUnknownParameterIsAnErrorThatNamesTheRightOne) {
  GeneratorOptions options = convolution();
  options.parameters = {{"blocksize", {16}}};
  EXPECT_THAT(error_of(options), HasSubstr("block_size"));
}

TEST(KernelGenerator, AValueThatTheFileDoesNotListIsAnErrorThatListsThem) {
  GeneratorOptions options = convolution();
  options.parameters = {{"block_size", {16, 17}}};
  EXPECT_THAT(error_of(options), testing::AllOf(HasSubstr("17"), HasSubstr("16, 32, 64")));
}

TEST(KernelGenerator, AParameterWithoutValuesIsAnError) {
  GeneratorOptions options = convolution();
  options.parameters = {{"block_size", {}}};
  EXPECT_THAT(error_of(options), HasSubstr("no values"));
}

TEST(KernelGenerator, FileAndTextExcludeEachOther) {
  GeneratorOptions options = convolution();
  options.text = "x";
  EXPECT_THAT(error_of(options), HasSubstr("either"));
  EXPECT_THAT(error_of({}), HasSubstr("either"));
}

TEST(KernelGenerator, BadInputIsAUsageErrorThatNamesIt) {
  GeneratorOptions missing = convolution();
  missing.kernel_file = "no/such.cu";
  EXPECT_THAT(error_of(missing), HasSubstr("no/such.cu"));
  GeneratorOptions dims = convolution();
  dims.problem = "H=0,W=64,R=3,S=3";
  EXPECT_THAT(error_of(dims), HasSubstr("H"));
  GeneratorOptions dtype = convolution();
  dtype.dtype = "f8";
  EXPECT_THAT(error_of(dtype), HasSubstr("f8"));
  GeneratorOptions op = convolution();
  op.op = "softmax";
  EXPECT_THAT(error_of(op), HasSubstr("conv2d"));
  GeneratorOptions arch = convolution();
  arch.architecture = "tpu";
  EXPECT_THAT(error_of(arch), HasSubstr("tpu"));
}

}  // namespace
}  // namespace ak
