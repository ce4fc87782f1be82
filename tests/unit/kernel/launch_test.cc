#include "autokernel/kernel/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::HasSubstr;

constexpr std::string_view kFile = R"toml(dtypes = ["f32", "f16"]
specialize = ["N"]
max_registers = "THREADS / 2"
[tunables]
THREADS = [64, 128]
FAST = [true, false]
[defaults]
THREADS = 64
FAST = true
[[workspace]]
name = "partial"
bytes = "elem_bytes * M"
zeroed = true
[[tensormap]]
name = "x_map"
tensor = "x"
box = [1, "THREADS"]
swizzle = 64
[[launch]]
entry = "f"
grid = ["ceil_div(N, THREADS)", "M"]
block = ["THREADS"]
shared_bytes = "THREADS * 4"
cooperative = true
args = ["x", "weight", "residual", "y", "M", "CAUSAL", "eps", "IGNORE", "partial", "x_map", "N * 2", "FAST", "HAS_WEIGHT", -3]
[[launch]]
entry = "f"
grid = [1]
block = [1]
args = []
)toml";

LaunchPlan plan_of(std::string_view toml = kFile) {
  const KernelFile file = parsed(file_text(toml));
  const Result<LaunchPlan> plan =
      make_plan(file, file.defaults, problem({{"M", 64}, {"N", 100}}, {"weight"}), signature(), gpu());
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *plan : LaunchPlan{};
}

TEST(MakePlan, EvaluatesGridBlockAndSharedMemory) {
  const LaunchPlan plan = plan_of();
  ASSERT_EQ(plan.steps.size(), 2u);
  const LaunchStep& step = plan.steps[0];
  EXPECT_EQ(step.entry, "f");
  EXPECT_EQ(step.grid, (std::array<std::uint32_t, 3>{2, 64, 1}));
  EXPECT_EQ(step.block, (std::array<std::uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(step.cluster, (std::array<std::uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(step.shared_bytes, 256u);
  EXPECT_TRUE(step.cooperative);
  EXPECT_FALSE(plan.steps[1].cooperative);
}

TEST(MakePlan, BindsEveryKindOfArgument) {
  const std::vector<LaunchArg> args = plan_of().steps[0].args;
  ASSERT_EQ(args.size(), 14u);
  EXPECT_EQ(std::get<TensorArg>(args[0]).tensor, "x");
  EXPECT_EQ(std::get<TensorArg>(args[1]).tensor, "weight");
  EXPECT_TRUE(std::holds_alternative<NullArg>(args[2]));  // an optional tensor that is absent
  EXPECT_EQ(std::get<TensorArg>(args[3]).tensor, "y");
  EXPECT_EQ(std::get<std::int32_t>(args[4]), 64);
  EXPECT_EQ(std::get<std::int32_t>(args[5]), 1);
  EXPECT_EQ(std::get<float>(args[6]), 1e-6f);
  EXPECT_EQ(std::get<std::int32_t>(args[7]), -100);
  EXPECT_EQ(std::get<TensorArg>(args[8]).tensor, "partial");
  EXPECT_EQ(std::get<TensorMapArg>(args[9]).name, "x_map");
  EXPECT_EQ(std::get<std::int32_t>(args[10]), 200);
  EXPECT_EQ(std::get<std::int32_t>(args[11]), 1);
  EXPECT_EQ(std::get<std::int32_t>(args[12]), 1);
  EXPECT_EQ(std::get<std::int32_t>(args[13]), -3);
}

TEST(MakePlan, EvaluatesWorkspacesAndTensorMaps) {
  const LaunchPlan plan = plan_of();
  ASSERT_EQ(plan.workspaces.size(), 1u);
  EXPECT_EQ(plan.workspaces[0].name, "partial");
  EXPECT_EQ(plan.workspaces[0].bytes, 256u);
  EXPECT_TRUE(plan.workspaces[0].zeroed);
  ASSERT_EQ(plan.tensor_maps.size(), 1u);
  EXPECT_EQ(plan.tensor_maps[0].box, (std::vector<std::uint32_t>{1, 64}));
  EXPECT_EQ(plan.tensor_maps[0].swizzle_bytes, 64);
}

TEST(MakePlan, ALaunchIsLeftOutWhereItsConditionDoesNotHold) {
  const auto steps = [](const std::string& condition) {
    std::string text(kFile);
    const std::size_t second = text.rfind("entry = \"f\"\n");
    return plan_of(text.insert(second, "when = \"" + condition + "\"\n")).steps.size();
  };
  EXPECT_EQ(steps("CAUSAL == 1 && THREADS > 32"), 2u);
  EXPECT_EQ(steps("N > 100"), 1u);
}

TEST(MakePlan, BuffersOfAReferenceAreTensorsLikeOthers) {
  Signature reference = signature();
  for (const char* name : {"y_r", "y_S", "y_I0"}) reference.tensors.emplace_back(name);
  const KernelFile file =
      parsed(file_text("dtypes = [\"f32\"]\n[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = [1]\nargs = "
                       "[\"x\", \"y_r\", \"y_S\", \"y_I0\"]\n"));
  EXPECT_TRUE(check_against(file, reference));
  const Result<LaunchPlan> plan =
      make_plan(file, file.defaults, problem({{"M", 64}, {"N", 100}}, {"weight"}), reference, gpu());
  ASSERT_TRUE(plan);
  EXPECT_EQ(std::get<TensorArg>(plan->steps[0].args[3]).tensor, "y_I0");
}

std::string plan_error(std::string_view launch,
                       const Problem& on = problem({{"M", 64}, {"N", 100}}, {"weight"})) {
  const KernelFile file =
      parsed(file_text("dtypes = [\"f32\"]\n[[launch]]\nentry = \"f\"\n" + std::string(launch)));
  const Result<LaunchPlan> plan = make_plan(file, file.defaults, on, signature(), gpu());
  EXPECT_FALSE(plan);
  return plan ? "" : plan.error().message;
}

TEST(MakePlan, AnArgumentBeyond32BitsIsAnError) {
  EXPECT_THAT(plan_error("grid = [1]\nblock = [1]\nargs = [\"N * 100000000\"]\n"),
              HasSubstr("N * 100000000: 10000000000 does not fit a kernel's int (M=64 N=100"));
}

TEST(MakePlan, SizesThatAreNoneAreErrors) {
  EXPECT_THAT(plan_error("grid = [\"N - 100\"]\nblock = [1]\nargs = []\n"),
              HasSubstr("N - 100 = 0 leaves nothing"));
  EXPECT_THAT(plan_error("grid = [\"N - 101\"]\nblock = [1]\nargs = []\n"),
              HasSubstr("N - 101 = -1 is no size"));
  EXPECT_THAT(plan_error("grid = [\"N / 0\"]\nblock = [1]\nargs = []\n"), HasSubstr("division by zero"));
}

TEST(MakePlan, AnIntScalarWithAFractionIsAnError) {
  Problem odd = problem({{"M", 64}, {"N", 100}}, {"weight"});
  odd.scalars["IGNORE"] = 0.5;
  EXPECT_THAT(plan_error("grid = [1]\nblock = [1]\nargs = [\"IGNORE\"]\n", odd), HasSubstr("does not fit"));
  odd.scalars.erase("IGNORE");
  EXPECT_THAT(plan_error("grid = [1]\nblock = [1]\nargs = [\"IGNORE\"]\n", odd),
              HasSubstr("no value for it"));
}

TEST(MakeSource, HoldsEverythingThatDecidesTheBinary) {
  const KernelFile file = parsed(file_text(kFile));
  const Result<Source> source = make_source(file, file.defaults, problem({{"M", 64}, {"N", 100}}, {"weight"}),
                                            signature(), gpu(), Build::kChecked);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->language, "cuda");
  EXPECT_EQ(source->name, "test.cu");
  EXPECT_EQ(source->text, file.text);
  EXPECT_EQ(source->dtype, DType::kF32);
  EXPECT_EQ(source->flags, (NamedInts{{"CAUSAL", 1}, {"HAS_RESIDUAL", 0}, {"HAS_WEIGHT", 1}}));
  EXPECT_EQ(source->tunables, file.defaults.values);
  EXPECT_EQ(source->specialised, (NamedInts{{"N", 100}}));
  EXPECT_EQ(source->entries, std::vector<std::string>{"f"});
  EXPECT_EQ(source->arch, "sm_90a");
  EXPECT_EQ(source->max_registers, 32);
  EXPECT_EQ(source->build, Build::kChecked);
}

TEST(MakeSource, TunablesOfATemplateAreNoMacros) {
  const KernelFile file = parsed(
      "/* autokernel\ntemplate = true\ndtypes = [\"f32\"]\n[tunables]\nsize = [3]\n[defaults]\nsize = "
      "3\n[[launch]]\n"
      "entry = \"f\"\ngrid = [1]\nblock = [1]\nargs = []\n*/\n__global__ void f() { int a[{size}]; }\n");
  const Result<Source> source = make_source(file, file.defaults, problem({{"M", 64}, {"N", 100}}, {"weight"}),
                                            signature(), gpu(), Build::kTimed);
  ASSERT_TRUE(source);
  EXPECT_TRUE(source->tunables.empty());
  EXPECT_THAT(source->text, HasSubstr("int a[3];"));
}

TEST(NamesOf, KnowsTunablesDimsFlagsOptionalTensorsAndTheDevice) {
  const Expr::Lookup lookup =
      names_of(config_of({{"VEC", std::int64_t{4}}, {"FAST", true}, {"KIND", std::string("a")}}),
               problem({{"M", 64}, {"N", 100}}, {"weight"}), gpu(), {"weight", "residual"});
  EXPECT_EQ(lookup("VEC"), 4);
  EXPECT_EQ(lookup("FAST"), 1);
  EXPECT_EQ(lookup("KIND"), std::nullopt);
  EXPECT_EQ(lookup("N"), 100);
  EXPECT_EQ(lookup("CAUSAL"), 1);
  EXPECT_EQ(lookup("HAS_WEIGHT"), 1);
  EXPECT_EQ(lookup("HAS_RESIDUAL"), 0);
  EXPECT_EQ(lookup("HAS_BIAS"), std::nullopt);
  EXPECT_EQ(lookup("elem_bytes"), 4);
  EXPECT_EQ(lookup("multiprocessors"), 132);
  EXPECT_EQ(lookup("nothing"), std::nullopt);
}

}  // namespace
}  // namespace ak::kernel
