// Which problems are checked: hidden shapes, size sets, limits, draws, and what is compiled ahead.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "autokernel/harness/hidden_shapes.h"
#include "autokernel/harness/reference.h"
#include "autokernel/harness/sizes.h"
#include "fixtures.h"

namespace ak::harness {
namespace {

using namespace ak::harness::testing;
using ::testing::HasSubstr;

std::string rmsnorm_file(const std::string& constraints) {
  return R"(/* autokernel
op = "rmsnorm"
dtypes = ["f32", "f16"]
[tunables]
THREADS = [32, 64]
[constraints]
)" + constraints +
         R"(
[defaults]
THREADS = 32
[[launch]]
entry = "k"
grid = ["M"]
block = ["THREADS"]
args = ["x", "y"]
*/
extern "C" __global__ void k(const scalar_t* x, scalar_t* y) {}
)";
}

class ShapesTest : public ::testing::Test {
 protected:
  ShapesTest() : registry_(registry()), family_(**registry_.find("rmsnorm")), context_(family_, 7) {}
  Candidate candidate(const std::string& constraints) {
    auto made =
        Candidate::create(*context_, {"k.cu", rmsnorm_file(constraints), {{{"THREADS", std::int64_t{32}}}}});
    EXPECT_TRUE(made);
    EXPECT_TRUE(std::holds_alternative<Candidate>(*made)) << std::get<Failure>(*made).message;
    return std::get<Candidate>(std::move(*made));
  }
  std::vector<Problem> hidden(const std::string& constraints, const std::string& like = "M=32,N=128",
                              std::size_t count = 12) {
    auto shapes =
        hidden_shapes(*context_, candidate(constraints), problem_of(family_, like, DType::kF16), count);
    EXPECT_TRUE(shapes) << shapes.error().message;
    return shapes ? *shapes : std::vector<Problem>();
  }

  op::Registry registry_;
  const op::Family& family_;
  DescribedContext context_;
};

TEST_F(ShapesTest, HiddenShapesAreDistinctSmallAndOfTheSameKind) {
  const std::vector<Problem> shapes = hidden("");
  ASSERT_EQ(shapes.size(), 12u);
  std::set<std::string> labels;
  for (const Problem& shape : shapes) {
    EXPECT_EQ(shape.dtype, DType::kF16);
    EXPECT_EQ(shape.flags, problem_of(family_, "M=32,N=128").flags);
    EXPECT_LE(*total_elements(family_, shape), 1u << 16);
    labels.insert(shape.hash());
  }
  EXPECT_EQ(labels.size(), 12u);
}

TEST_F(ShapesTest, AnotherSeedGivesOtherShapes) {
  auto labels = [&](std::uint64_t seed) {
    DescribedContext context(family_, seed);
    auto made = Candidate::create(*context, {"k.cu", rmsnorm_file(""), {{{"THREADS", std::int64_t{32}}}}});
    auto shapes = hidden_shapes(*context, std::get<Candidate>(*made), problem_of(family_, "M=32,N=128"), 6);
    std::vector<std::string> out;
    for (const Problem& shape : *shapes) out.push_back(shape.label());
    return out;
  };
  EXPECT_NE(labels(1), labels(2));
  EXPECT_EQ(labels(1), labels(1));
}

TEST_F(ShapesTest, HiddenShapesObeyTheNeedsOfTheCandidate) {
  for (const Problem& shape : hidden(R"(needs = ["N % 4 == 0", "M <= 64"])")) {
    EXPECT_EQ(shape.dims.at("N") % 4, 0) << shape.label();
    EXPECT_LE(shape.dims.at("M"), 64) << shape.label();
  }
}

TEST_F(ShapesTest, HiddenShapesLieOnTheBoundsOfNeeds) {
  bool upper = false, lower = false;
  for (const Problem& shape : hidden(R"(needs = ["N <= 1000", "M >= 6"])", "M=32,N=128", 60)) {
    upper = upper || shape.dims.at("N") == 1000;
    lower = lower || shape.dims.at("M") == 6;
  }
  EXPECT_TRUE(upper && lower);
}

TEST_F(ShapesTest, HiddenShapesReachTheOddSidesOfWhatIsAllowed) {
  bool odd = false, one = false;
  for (const Problem& shape : hidden("", "M=32,N=128", 60)) {
    odd = odd || shape.dims.at("N") % 8 != 0;
    one = one || shape.dims.at("M") == 1 || shape.dims.at("N") == 1;
  }
  EXPECT_TRUE(odd && one);
}

TEST_F(ShapesTest, HiddenShapesUseOtherValuesOfTheScalars) {
  std::set<double> values;
  for (const Problem& shape : hidden("", "M=32,N=128,eps=1e-6", 30)) values.insert(shape.scalars.at("eps"));
  EXPECT_EQ(values, (std::set<double>{1e-6, 1e-5, 1e-3}));
}

TEST_F(ShapesTest, NeedsThatAdmitOneShapeGiveFewAndEnd) {
  const std::vector<Problem> shapes = hidden(R"(needs = ["M == 32", "N == 128"])");
  for (const Problem& shape : shapes) EXPECT_EQ(shape.dims.at("N"), 128);
  EXPECT_LT(shapes.size(), 12u);
}

TEST_F(ShapesTest, HiddenShapesObeyTheWhereOfTheFamily) {
  const op::Family& conv = **registry_.find("conv2d");
  DescribedContext context(conv, 3);
  const char* text = R"(/* autokernel
op = "conv2d"
dtypes = ["f32"]
[[launch]]
entry = "k"
grid = ["K"]
block = ["32"]
args = ["x", "y"]
*/
extern "C" __global__ void k(const float* x, float* y) {}
)";
  auto made = Candidate::create(*context, {"k.cu", text, {}});
  ASSERT_TRUE(made && std::holds_alternative<Candidate>(*made));
  auto shapes = hidden_shapes(*context, std::get<Candidate>(*made),
                              problem_of(conv, "C=4,H=9,W=9,K=4,R=3,S=3,GROUPS=2"), 6);
  ASSERT_TRUE(shapes) << shapes.error().message;
  EXPECT_EQ(shapes->size(), 6u);
  for (const Problem& shape : *shapes) {
    EXPECT_EQ(shape.dims.at("C") % shape.dims.at("GROUPS"), 0) << shape.label();
    EXPECT_GE(shape.dims.at("P"), 1) << shape.label();
  }
}

TEST_F(ShapesTest, EveryFamilyHasHiddenShapesForItsLargeSizes) {
  for (const op::Family& family : registry_.families()) {
    DescribedContext context(family, 11);
    auto made =
        Candidate::create(*context, {"starter.cu", family.kernels.front().text,
                                     kernel::parse(family.kernels.front().text, "starter.cu")->defaults});
    ASSERT_TRUE(made && std::holds_alternative<Candidate>(*made)) << family.name;
    for (const op::Size& size : family.sizes.at("primary")) {
      auto shapes = hidden_shapes(*context, std::get<Candidate>(*made),
                                  *op::make_problem(family, size, DType::kF32), 6);
      ASSERT_TRUE(shapes);
      EXPECT_EQ(shapes->size(), 6u) << family.name << " "
                                    << op::make_problem(family, size, DType::kF32)->label();
    }
  }
}

TEST_F(ShapesTest, ASetIsTakenInEachDtypeOfTheTargetOnce) {
  Target target;
  for (DType dtype : {DType::kF16, DType::kF32, DType::kF16}) {
    target.problems.push_back({.id = "p", .problem = problem_of(family_, "M=1,N=1", dtype)});
  }
  auto problems = problems_of_set(family_, "smoke", target);
  ASSERT_TRUE(problems);
  ASSERT_EQ(problems->size(), 2 * family_.sizes.at("smoke").size());
  EXPECT_EQ(problems->front().dtype, DType::kF16);
  EXPECT_EQ(problems->back().dtype, DType::kF32);
}

TEST_F(ShapesTest, AnUnknownSetIsEmpty) {
  auto problems = problems_of_set(family_, "gigantic", {});
  ASSERT_TRUE(problems);
  EXPECT_TRUE(problems->empty());
}

TEST_F(ShapesTest, TheCpuDeviceLeavesLargeProblemsOutAndSaysWhy) {
  const Limits limits = Limits::for_device(DeviceInfo{.kind = "cpu"});
  auto small = too_large(family_, problem_of(family_, "M=1024,N=1024"), limits);
  auto large = too_large(family_, problem_of(family_, "M=8192,N=8192"), limits);
  ASSERT_TRUE(small && large);
  EXPECT_FALSE(*small) << **small;
  ASSERT_TRUE(*large);
  EXPECT_THAT(**large, HasSubstr("elements, at most"));
}

TEST_F(ShapesTest, WorkIsLimitedToo) {
  const op::Family& matmul = **registry_.find("matmul");
  auto large = too_large(matmul, problem_of(matmul, "M=1024,N=1024,K=512"),
                         Limits::for_device(DeviceInfo{.kind = "cpu"}));
  ASSERT_TRUE(large && *large);
  EXPECT_THAT(**large, HasSubstr("flops, at most"));
}

TEST_F(ShapesTest, AGpuHasRoomForThePrimarySizes) {
  const Limits limits = Limits::for_device(DeviceInfo{.kind = "cuda"});
  for (const op::Size& size : family_.sizes.at("primary")) {
    auto large = too_large(family_, *op::make_problem(family_, size, DType::kF32), limits);
    EXPECT_TRUE(large && !*large);
  }
}

TEST_F(ShapesTest, EveryStageHasADrawInEveryFamily) {
  for (const op::Family& family : registry_.families()) {
    for (Stage stage : {Stage::kSmoke, Stage::kShapeSweep, Stage::kNumericalStability, Stage::kDeterminism,
                        Stage::kEdgeCases, Stage::kTime}) {
      EXPECT_FALSE(draws_of(family, stage).empty()) << family.name << " " << name(stage);
    }
    EXPECT_GE(family.draws.size(), 5u) << family.name;
  }
}

TEST_F(ShapesTest, SourcesAreDistinctAndHoldCandidateIncumbentAndReference) {
  Job job;
  job.target = {
      .id = "t", .op = "rmsnorm", .problems = {{.id = "p", .problem = problem_of(family_, "M=4,N=64")}}};
  job.candidate = {"k.cu", rmsnorm_file(""), {{{"THREADS", std::int64_t{64}}}}};
  job.incumbent = CandidateText{"k.cu", rmsnorm_file(""), {{{"THREADS", std::int64_t{32}}}}};
  job.depth = Depth::kTrial;
  auto sources = sources_of(job, registry_, DeviceInfo{.kind = "cpu", .arch = "cpu"});
  ASSERT_TRUE(sources) << sources.error().message;
  std::set<std::string> hashes;
  for (const Source& source : *sources) hashes.insert(hash(source));
  EXPECT_EQ(hashes.size(), sources->size());
  EXPECT_EQ(sources->size(), 3u);
}

TEST_F(ShapesTest, AReferenceThatTakesFlagsAsArgumentsIsCompiledOncePerDtype) {
  for (const char* name : {"matmul", "conv2d", "fused_mlp", "flash_attention"}) {
    const op::Family& family = **registry_.find(name);
    std::set<std::string> hashes;
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (const auto& [set, sizes] : family.sizes) {
        for (const op::Size& size : sizes) {
          auto source =
              reference_source(family, *op::make_problem(family, size, dtype), DeviceInfo{.kind = "cpu"});
          ASSERT_TRUE(source) << source.error().message;
          hashes.insert(hash(*source));
        }
      }
    }
    EXPECT_EQ(hashes.size(), 2u) << name;
  }
}

TEST_F(ShapesTest, AFileThatDoesNotParseHasNoSourcesOfItsOwn) {
  Job job;
  job.target = {
      .id = "t", .op = "rmsnorm", .problems = {{.id = "p", .problem = problem_of(family_, "M=4,N=64")}}};
  job.candidate = {"k.cu", "no front matter", {}};
  auto sources = sources_of(job, registry_, DeviceInfo{.kind = "cpu", .arch = "cpu"});
  ASSERT_TRUE(sources) << sources.error().message;
  for (const Source& source : *sources) EXPECT_NE(source.text, "no front matter");
}

TEST_F(ShapesTest, ATargetOfAnUnknownOpIsAnError) {
  Job job;
  job.target.op = "nothing";
  EXPECT_FALSE(sources_of(job, registry_, {}));
}

TEST_F(ShapesTest, ACandidateOfAnotherOpOrWithoutAValueIsAFailureNotAnError) {
  auto failure = [&](const CandidateText& text) {
    auto made = Candidate::create(*context_, text);
    EXPECT_TRUE(made);
    return std::holds_alternative<Failure>(*made) ? std::get<Failure>(*made) : Failure{};
  };
  EXPECT_EQ(failure({"k.cu", "no front matter", {}}).kind, FailureKind::kCompile);
  EXPECT_EQ(failure({"k.cu", rmsnorm_file(""), {}}).kind, FailureKind::kInvalidConfig);
  EXPECT_THAT(failure({"k.cu", rmsnorm_file(""), {}}).message, HasSubstr("THREADS"));
  std::string other = rmsnorm_file("");
  other.replace(other.find("rmsnorm"), 7, "softmax");
  EXPECT_EQ(failure({"k.cu", other, {{{"THREADS", std::int64_t{32}}}}}).kind, FailureKind::kInvalidConfig);
}

}  // namespace
}  // namespace ak::harness
