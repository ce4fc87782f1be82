// The judge is judged: references against long double host code, and every kernel of a family against the
// tolerance.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "autokernel/base/random.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/space.h"
#include "oracles.h"
#include "reference_bench.h"

namespace ak::op {
namespace {

using testing::Arrays;
using testing::LongArrays;
using testing::ReferenceBench;

const Registry& families() {
  static const Registry kRegistry = *Registry::create(embedded_families(), {});
  return kRegistry;
}

struct Case {
  const char* family;
  const char* size;
  DType dtype;
};

std::string label(const ::testing::TestParamInfo<Case>& info) {
  std::string text =
      std::string(info.param.family) + "_" + info.param.size + "_" + std::string(name(info.param.dtype));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

class ReferenceTest : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<ReferenceBench>> made = ReferenceBench::create();
    ASSERT_TRUE(made) << made.error().message;
    bench_ = made->release();
  }
  static void TearDownTestSuite() {
    delete bench_;
    bench_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(bench_, nullptr);
    family_ = *families().find(GetParam().family);
    Result<Problem> problem =
        make_problem(*family_, *parse_size(*family_, GetParam().size), GetParam().dtype);
    ASSERT_TRUE(problem) << problem.error().message;
    problem_ = std::move(*problem);
    Rng rng(7);
    for (const TensorSpec* tensor : family_->inputs(problem_)) {
      testing::Values& values = inputs_[tensor->name];
      values.resize(*element_count(*family_, *tensor, problem_));
      const bool classes = tensor->dtype == DType::kI64;
      for (double& value : values)
        value = classes ? a_class(rng) : testing::rounded(2 * rng.normal(), problem_.dtype);
    }
    expected_ = testing::expected_results(problem_, inputs_);
  }

  /// A target of a loss: one of V classes, or one that is ignored.
  double a_class(Rng& rng) const {
    if (rng.below(4) == 0) return problem_.scalars.at("IGNORE");
    return static_cast<double>(rng.below(static_cast<std::uint64_t>(problem_.dims.at("V"))));
  }

  /// Condition (1) of the tolerance on every element of every output.
  void expect_within_tolerance(const Arrays& results) {
    const double u32 = 0x1p-24;
    for (const TensorSpec* output : family_->outputs(problem_)) {
      const DType dtype = dtype_of(*output, problem_);
      const double u = unit_roundoff(dtype), f = dtype == DType::kF16 ? 0x1p-25 : 0x1p-126;
      const testing::Values& y = results.at(output->name);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto r = static_cast<double>(expected_.at(output->name + "_r")[i]);
        const auto s = static_cast<double>(expected_.at(output->name + "_S")[i]);
        double limit = 1.01 * std::max(u * std::fabs(r), f) + family_->tolerance.c * u32 * s;
        if (!family_->tolerance.roundings.empty()) {
          limit +=
              2 * unit_roundoff(problem_.dtype) * static_cast<double>(expected_.at(output->name + "_I0")[i]);
        }
        ASSERT_LE(std::fabs(y[i] - r), limit)
            << output->name << "[" << i << "] = " << y[i] << ", expected " << r;
      }
    }
  }

  static ReferenceBench* bench_;
  const Family* family_ = nullptr;
  Problem problem_;
  Arrays inputs_;
  LongArrays expected_;
};
ReferenceBench* ReferenceTest::bench_ = nullptr;

TEST_P(ReferenceTest, AgreesWithLongDoubleCode) {
  const Result<Arrays> results =
      bench_->run(*family_, family_->reference, family_->name + "/reference.cu", problem_, inputs_);
  ASSERT_TRUE(results) << results.error().message;
  for (const auto& [array, values] : expected_) {
    const testing::Values& got = results->at(array);
    ASSERT_EQ(got.size(), values.size()) << array;
    const std::string bound = array.substr(0, array.find_last_of('_')) + "_S";
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto want = static_cast<double>(values[i]);
      const double scale = std::fabs(want) + static_cast<double>(expected_.at(bound)[i]);
      // S and I are sizes of errors: a reference may sum them in float.
      const double precision = array.ends_with("_r") ? 1e-14 : 1e-5;
      ASSERT_LE(std::fabs(got[i] - want), precision * scale + 1e-300) << array << "[" << i << "]";
    }
  }
}

TEST_P(ReferenceTest, TheContractKernelMeetsTheTolerance) {
  const Result<Arrays> results =
      bench_->run(*family_, family_->reference, family_->name + "/reference.cu", problem_, inputs_);
  ASSERT_TRUE(results) << results.error().message;
  expect_within_tolerance(*results);
}

TEST_P(ReferenceTest, EveryKernelOfTheFamilyMeetsTheTolerance) {
  for (const KernelSource& kernel : family_->kernels) {
    SCOPED_TRACE(kernel.name);
    const Result<kernel::KernelFile> file = kernel::parse(kernel.text, kernel.name);
    ASSERT_TRUE(file) << file.error().message;
    const auto invalid = kernel::check_config(*file, file->defaults, problem_, bench_->info());
    ASSERT_TRUE(invalid) << invalid.error().message;
    if (*invalid) continue;  // outside its valid domain: `needs`
    const Result<Arrays> results = bench_->run(*family_, kernel.text, kernel.name, problem_, inputs_);
    ASSERT_TRUE(results) << results.error().message;
    expect_within_tolerance(*results);
  }
}

constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kBF16 = DType::kBF16;

INSTANTIATE_TEST_SUITE_P(Rmsnorm, ReferenceTest,
                         ::testing::Values(Case{"rmsnorm", "M=5,N=64", kF32},
                                           Case{"rmsnorm", "M=3,N=640", kBF16},
                                           Case{"rmsnorm", "M=2,N=1028,residual,eps=1e-3", kF16},
                                           Case{"rmsnorm", "M=4,N=37,residual", kBF16},
                                           Case{"rmsnorm", "M=1,N=1", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(Softmax, ReferenceTest,
                         ::testing::Values(Case{"softmax", "ROWS=5,COLS=64", kF32},
                                           Case{"softmax", "ROWS=3,COLS=1001,scale=0.125", kF16},
                                           Case{"softmax", "ROWS=6,COLS=70,mask", kBF16},
                                           Case{"softmax", "ROWS=6,COLS=70,MASK_ROWS=1,scale=40,mask", kF32},
                                           Case{"softmax", "ROWS=1,COLS=1", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(Matmul, ReferenceTest,
                         ::testing::Values(Case{"matmul", "M=17,N=70,K=33", kF32},
                                           Case{"matmul", "M=65,N=66,K=40,TRANS_A=1,ACT=1", kF16},
                                           Case{"matmul", "M=9,N=20,K=35,TRANS_B=1,ACT=2,bias", kBF16},
                                           Case{"matmul",
                                                "BATCH=3,M=8,N=5,K=130,TRANS_A=1,TRANS_B=1,ACT=3,bias", kF32},
                                           Case{"matmul", "BATCH=2,M=1,N=7,K=1,ACT=4", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(Reduce, ReferenceTest,
                         ::testing::Values(Case{"reduce", "ROWS=5,COLS=64", kF32},
                                           Case{"reduce", "ROWS=3,COLS=1001", kBF16},
                                           Case{"reduce", "ROWS=7,COLS=259", kF16},
                                           Case{"reduce", "ROWS=1,COLS=1", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(Layernorm, ReferenceTest,
                         ::testing::Values(Case{"layernorm", "M=5,N=64", kF32},
                                           Case{"layernorm", "M=3,N=640,eps=1e-3", kBF16},
                                           Case{"layernorm", "M=2,N=1028,residual", kF16},
                                           Case{"layernorm", "M=4,N=37,residual", kBF16},
                                           Case{"layernorm", "M=1,N=1", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(CrossEntropy, ReferenceTest,
                         ::testing::Values(Case{"cross_entropy", "ROWS=9,V=64", kF32},
                                           Case{"cross_entropy", "ROWS=6,V=1001,REDUCTION=1", kBF16},
                                           Case{"cross_entropy", "ROWS=40,V=7,REDUCTION=1,IGNORE=3", kF32},
                                           Case{"cross_entropy", "ROWS=11,V=130,REDUCTION=2,IGNORE=-1", kF16},
                                           Case{"cross_entropy", "ROWS=3,V=1", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(RotaryEmbedding, ReferenceTest,
                         ::testing::Values(Case{"rotary_embedding", "B=2,H=3,S=5,D=16", kF32},
                                           Case{"rotary_embedding", "B=2,H=2,S=7,D=24,COS_BATCH=1", kBF16},
                                           Case{"rotary_embedding", "B=3,H=3,S=4,D=6,INTERLEAVED=1", kF32},
                                           Case{"rotary_embedding",
                                                "B=2,H=5,S=3,D=32,INTERLEAVED=1,COS_BATCH=1", kF16},
                                           Case{"rotary_embedding", "B=1,H=1,S=1,D=2", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(
    Conv2d, ReferenceTest,
    ::testing::Values(
        Case{"conv2d", "H=20,W=37,R=5,S=5,PAD_H=2,PAD_W=2", kF32},
        Case{"conv2d", "N=2,C=4,H=9,W=7,K=6,R=3,S=3,PAD_H=1,PAD_W=1,STRIDE_H=2,STRIDE_W=2,bias,ACT=1", kF16},
        Case{"conv2d", "C=2,H=19,W=23,K=3,R=3,S=3,PAD_H=2,PAD_W=2,DILATION_H=2,DILATION_W=2", kF32},
        Case{"conv2d", "N=2,C=8,H=13,W=11,K=8,R=3,S=3,GROUPS=8,PAD_H=1,PAD_W=1,NHWC=1,ACT=4,bias,residual",
             kBF16},
        Case{"conv2d", "C=6,H=10,W=9,K=4,R=3,S=1,GROUPS=2,PAD_H=4,STRIDE_W=2,NHWC=1,ACT=3,residual", kF32},
        Case{"conv2d", "C=3,H=10,W=9,K=4,R=2,S=4,STRIDE_H=3,DILATION_W=2,ACT=2,residual", kF32},
        Case{"conv2d", "H=1,W=1,R=1,S=1,PAD_H=2,PAD_W=3", kF32}),
    label);

INSTANTIATE_TEST_SUITE_P(FusedMlp, ReferenceTest,
                         ::testing::Values(Case{"fused_mlp", "M=3,D=20,H=70,ACT=4", kF32},
                                           Case{"fused_mlp", "M=17,D=40,H=24,ACT=2", kF16},
                                           Case{"fused_mlp", "M=5,D=600,H=9,ACT=3",
                                                kBF16},  // more columns than one block makes
                                           Case{"fused_mlp", "M=4,D=33,H=130,ACT=1", kBF16},
                                           Case{"fused_mlp", "M=1,D=1,H=1", kF32}),
                         label);
INSTANTIATE_TEST_SUITE_P(
    FlashAttention, ReferenceTest,
    ::testing::Values(
        Case{"flash_attention", "HQ=2,HKV=2,LQ=40,LK=40,D=64,CAUSAL=1", kF32},
        Case{"flash_attention", "B=2,HQ=6,HKV=2,LQ=9,LK=21,D=24,mask,MASK_HEADS=1,CAUSAL=2", kF16},
        Case{"flash_attention", "B=2,HQ=2,HKV=1,LQ=19,LK=7,D=33,CAUSAL=2", kF32},  // rows that see nothing
        Case{"flash_attention", "B=3,HQ=4,HKV=4,LQ=5,LK=30,D=130,mask,MASK_BATCH=1,scale=0.5", kBF16},
        Case{"flash_attention", "B=2,HQ=2,HKV=2,LQ=8,LK=20,D=16,mask,MASK_BATCH=1,MASK_HEADS=1,CAUSAL=1",
             kF32},
        Case{"flash_attention", "HQ=3,HKV=1,LQ=1,LK=65,D=40,mask", kF16},
        Case{"flash_attention", "HQ=1,HKV=1,LQ=1,LK=1,D=1", kF32}),
    label);

}  // namespace
}  // namespace ak::op
