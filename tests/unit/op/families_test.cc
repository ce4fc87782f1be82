// What holds for every family that the binary carries, and the costs of some problems by hand.
#include <gmock/gmock.h>

#include <set>

#include "autokernel/op/op_family.h"

namespace ak::op {
namespace {

const Registry& families() {
  static const Registry kRegistry = [] {
    Result<Registry> made = Registry::create(embedded_families(), {});
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : Registry{};
  }();
  return kRegistry;
}

const Family& family(std::string_view name) {
  const Result<const Family*> found = families().find(name);
  EXPECT_TRUE(found);
  return **found;
}

Problem problem(const Family& of, std::string_view text, DType dtype = DType::kF32) {
  Result<Problem> made = make_problem(of, *parse_size(of, text), dtype);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

TEST(Families, EachHasStarterPlaybookAndPyTorchBaselines) {
  EXPECT_GE(families().families().size(), 4U);
  for (const Family& each : families().families()) {
    ASSERT_FALSE(each.kernels.empty()) << each.name;
    EXPECT_THAT(each.kernels.front().name, ::testing::EndsWith("/starter.cu"));
    EXPECT_FALSE(each.playbook.empty()) << each.name;
    EXPECT_THAT(each.torch_module, ::testing::HasSubstr("def eager(")) << each.name;
  }
}

TEST(Families, EachHasFiveDrawsOfThreeDistributions) {
  for (const Family& each : families().families()) {
    EXPECT_GE(each.draws.size(), 5U) << each.name;
    std::set<std::string> kinds;
    for (const Draw& draw : each.draws) kinds.insert(draw.tensors.at(each.tensors.front().name).kind);
    EXPECT_GE(kinds.size(), 3U) << each.name;
  }
}

TEST(Families, SmallSizeSetsRunOnEveryDevice) {
  for (const Family& each : families().families()) {
    for (const char* set : {"smoke", "sweep", "edge"}) {
      for (const Size& size : each.sizes.at(set)) {
        const Result<Problem> made = make_problem(each, size, DType::kF32);
        ASSERT_TRUE(made);
        EXPECT_LE(*useful_flops(each, *made), 0x1p28) << each.name << " " << made->label();
        EXPECT_LE(*compulsory_bytes(each, *made), 0x1p24) << each.name << " " << made->label();
      }
    }
  }
}

TEST(Families, EverySizeHasCostsInEveryDtypeAndWholeRows) {
  for (const Family& each : families().families()) {
    for (const auto& [set, sizes] : each.sizes) {
      for (const Size& size : sizes) {
        const Result<Problem> made = make_problem(each, size, each.dtypes.back());
        ASSERT_TRUE(made);
        EXPECT_GT(*compulsory_bytes(each, *made), 0) << each.name << " " << made->label();
        EXPECT_GT(*useful_flops(each, *made), 0) << each.name << " " << made->label();
        for (const TensorSpec* output : each.outputs(*made)) {
          const Expr& row = each.tolerance.row_elements.at(output->name);
          EXPECT_EQ(static_cast<std::int64_t>(*element_count(each, *output, *made)) %
                        *row.evaluate(names_of(each, *made)),
                    0);
        }
      }
    }
  }
}

TEST(Rmsnorm, CostsCountTheResidualStream) {
  const Family& rmsnorm = family("rmsnorm");
  EXPECT_EQ(*compulsory_bytes(rmsnorm, problem(rmsnorm, "M=10,N=20", DType::kF16)), 2 * (400 + 20));
  EXPECT_EQ(*compulsory_bytes(rmsnorm, problem(rmsnorm, "M=10,N=20,residual", DType::kF16)), 2 * (800 + 20));
  EXPECT_EQ(*useful_flops(rmsnorm, problem(rmsnorm, "M=10,N=20")), 800);
}

TEST(Softmax, AMaskRowIsSharedUnlessEachHasItsOwn) {
  const Family& softmax = family("softmax");
  EXPECT_EQ(*compulsory_bytes(softmax, problem(softmax, "ROWS=10,COLS=20")), 4 * 400);
  EXPECT_EQ(*compulsory_bytes(softmax, problem(softmax, "ROWS=10,COLS=20,mask")), 4 * (400 + 20));
  EXPECT_EQ(*compulsory_bytes(softmax, problem(softmax, "ROWS=10,COLS=20,MASK_ROWS=1,mask")), 4 * 600);
}

TEST(CrossEntropy, TheLossIsOneNumberUnlessEachRowHasItsOwn) {
  const Family& loss = family("cross_entropy");
  const TensorSpec& output = *loss.tensor("loss");
  const Problem rows = problem(loss, "ROWS=10,V=20", DType::kF16);
  const Problem mean = problem(loss, "ROWS=10,V=20,REDUCTION=1", DType::kF16);
  EXPECT_THAT(*shape_of(loss, output, rows), ::testing::ElementsAre(10));
  EXPECT_THAT(*shape_of(loss, output, mean), ::testing::ElementsAre(1));
  EXPECT_EQ(dtype_of(output, rows), DType::kF32);
  EXPECT_EQ(rows.scalars.at("IGNORE"), -100);
  EXPECT_EQ(*compulsory_bytes(loss, rows), 2 * 200 + 8 * 10 + 4 * 10);
  EXPECT_EQ(*compulsory_bytes(loss, mean), 2 * 200 + 8 * 10 + 4);
}

/// The draw that is timed must not ignore rows: costs count them all.
TEST(CrossEntropy, TheTimedDrawIgnoresNoRow) {
  for (const Draw& draw : family("cross_entropy").draws) {
    if (std::find(draw.stages.begin(), draw.stages.end(), Stage::kTime) == draw.stages.end()) continue;
    EXPECT_FALSE(draw.tensors.at("targets").params.contains("special_share"));
  }
}

TEST(Layernorm, CostsCountTheResidualStream) {
  const Family& layernorm = family("layernorm");
  EXPECT_EQ(*compulsory_bytes(layernorm, problem(layernorm, "M=10,N=20", DType::kF16)), 2 * (400 + 40));
  EXPECT_EQ(*compulsory_bytes(layernorm, problem(layernorm, "M=10,N=20,residual", DType::kF16)),
            2 * (800 + 40));
  EXPECT_EQ(*useful_flops(layernorm, problem(layernorm, "M=10,N=20")), 1600);
}

TEST(Reduce, CostsAreThoseOfOneRead) {
  const Family& reduce = family("reduce");
  EXPECT_EQ(*compulsory_bytes(reduce, problem(reduce, "ROWS=10,COLS=20", DType::kBF16)), 2 * 10 * 21);
}

TEST(RotaryEmbedding, TablesAreSharedUnlessEachBatchHasItsOwn) {
  const Family& rotary = family("rotary_embedding");
  const std::string_view size = "B=2,H=3,S=5,D=8";
  EXPECT_EQ(*compulsory_bytes(rotary, problem(rotary, size)), 4 * (2 * 240 + 40));
  EXPECT_EQ(*compulsory_bytes(rotary, problem(rotary, std::string(size) + ",COS_BATCH=1")),
            4 * (2 * 240 + 80));
  EXPECT_EQ(*useful_flops(rotary, problem(rotary, size)), 720);
  EXPECT_FALSE(make_problem(rotary, *parse_size(rotary, "B=2,H=3,S=5,D=7"), DType::kF32));
}

TEST(Matmul, TransposedShapesSwap) {
  const Family& matmul = family("matmul");
  const Problem both = problem(matmul, "M=2,N=3,K=5,TRANS_A=1,TRANS_B=1");
  EXPECT_THAT(*shape_of(matmul, *matmul.tensor("a"), both), ::testing::ElementsAre(1, 5, 2));
  EXPECT_THAT(*shape_of(matmul, *matmul.tensor("b"), both), ::testing::ElementsAre(1, 3, 5));
  EXPECT_EQ(*useful_flops(matmul, both), 60);
  EXPECT_EQ(*compulsory_bytes(matmul, both), 4 * (10 + 15 + 6));
}

TEST(FlashAttention, OnlyPairsThatAreSeenCount) {
  const Family& attention = family("flash_attention");
  const auto flops = [&](const char* size) { return *useful_flops(attention, problem(attention, size)); };
  EXPECT_EQ(flops("HQ=2,HKV=1,LQ=3,LK=5,D=8"), 4.0 * 2 * 8 * 15);
  EXPECT_EQ(flops("HQ=2,HKV=1,LQ=3,LK=5,D=8,CAUSAL=1"), 4.0 * 2 * 8 * (1 + 2 + 3));
  EXPECT_EQ(flops("HQ=2,HKV=1,LQ=3,LK=5,D=8,CAUSAL=2"), 4.0 * 2 * 8 * (3 + 4 + 5));
  EXPECT_EQ(flops("HQ=2,HKV=1,LQ=5,LK=3,D=8,CAUSAL=2"), 4.0 * 2 * 8 * (0 + 0 + 1 + 2 + 3));
}

TEST(FlashAttention, KeysAndQueriesThatNobodyMeetsAreNotCompulsory) {
  const Family& attention = family("flash_attention");
  const auto bytes = [&](const char* size) {
    return *compulsory_bytes(attention, problem(attention, size, DType::kF16));
  };
  EXPECT_EQ(bytes("HQ=4,HKV=2,LQ=3,LK=5,D=8"), 2 * (2 * 4 * 3 * 8 + 2 * 2 * 5 * 8));
  EXPECT_EQ(bytes("HQ=4,HKV=2,LQ=3,LK=5,D=8,CAUSAL=1"), 2 * (2 * 4 * 3 * 8 + 2 * 2 * 3 * 8));
  EXPECT_EQ(bytes("HQ=4,HKV=2,LQ=5,LK=3,D=8,CAUSAL=2"), 2 * (4 * (5 + 3) * 8 + 2 * 2 * 3 * 8));
  EXPECT_EQ(bytes("B=2,HQ=4,HKV=2,LQ=3,LK=5,D=8,mask,MASK_BATCH=1"),
            2 * 2 * (2 * 4 * 3 * 8 + 2 * 2 * 5 * 8 + 3 * 5));
}

TEST(FlashAttention, TheScaleIsOneOverTheRootOfDUnlessGiven) {
  const Family& attention = family("flash_attention");
  EXPECT_EQ(problem(attention, "HQ=1,HKV=1,LQ=1,LK=1,D=64").scalars.at("scale"), 0.125);
  EXPECT_EQ(problem(attention, "HQ=1,HKV=1,LQ=1,LK=1,D=64,scale=3").scalars.at("scale"), 3);
}

TEST(FlashAttention, HeadsMustShareKeysEvenly) {
  const Family& attention = family("flash_attention");
  EXPECT_FALSE(make_problem(attention, *parse_size(attention, "HQ=3,HKV=2,LQ=1,LK=1,D=1"), DType::kF32));
}

TEST(FusedMlp, ThreeProductsCount) {
  const Family& mlp = family("fused_mlp");
  EXPECT_EQ(*useful_flops(mlp, problem(mlp, "M=2,D=3,H=5")), 6 * 30);
  EXPECT_EQ(*compulsory_bytes(mlp, problem(mlp, "M=2,D=3,H=5", DType::kBF16)), 2 * (2 * 6 + 3 * 15));
}

TEST(Conv2d, OutputDimsFollowFromStridePaddingAndDilation) {
  const Family& conv = family("conv2d");
  const Problem strided = problem(conv, "H=224,W=224,R=7,S=7,STRIDE_H=2,STRIDE_W=2,PAD_H=3,PAD_W=3");
  EXPECT_EQ(strided.dims.at("P"), 112);
  const Problem dilated = problem(conv, "H=19,W=23,R=3,S=3,DILATION_H=2,DILATION_W=2,PAD_H=2,PAD_W=2");
  EXPECT_EQ(dilated.dims.at("P"), 19);
  EXPECT_EQ(dilated.dims.at("Q"), 23);
}

TEST(Conv2d, OnlyTapsInsideTheImageCount) {
  const Family& conv = family("conv2d");
  // 3 x 3 filter, padding 1, a 4 x 4 image: 3 * 4 - 2 = 10 taps a direction.
  const Problem padded = problem(conv, "H=4,W=4,R=3,S=3,PAD_H=1,PAD_W=1");
  EXPECT_EQ(*useful_flops(conv, padded), 2 * 10 * 10);
  EXPECT_EQ(*compulsory_bytes(conv, padded), 4 * (16 + 9 + 16));
}

TEST(Conv2d, RowsThatNoOutputReadsAreNotCompulsory) {
  const Family& conv = family("conv2d");
  // 1 x 1 filter, stride 2: every second row and column.
  const Problem pointwise = problem(conv, "H=6,W=6,C=3,K=5,R=1,S=1,STRIDE_H=2,STRIDE_W=2", DType::kF16);
  EXPECT_EQ(*compulsory_bytes(conv, pointwise), 2 * (3 * 9 + 15 + 5 * 9));
}

TEST(Conv2d, AFilterLargerThanThePaddedImageIsRefused) {
  const Family& conv = family("conv2d");
  EXPECT_FALSE(make_problem(conv, *parse_size(conv, "H=4,W=4,R=7,S=7"), DType::kF32));
}

}  // namespace
}  // namespace ak::op
