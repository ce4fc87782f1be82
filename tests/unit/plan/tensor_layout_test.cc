#include "autokernel/plan/tensor_layout.h"

#include <gmock/gmock.h>

namespace ak::plan {
namespace {

using ::testing::ElementsAre;

TEST(TensorLayout, KnowsContiguousTransposedAndChannelsLast) {
  EXPECT_TRUE((Layout{{4, 8}, {8, 1}}).contiguous());
  EXPECT_TRUE((Layout{{4, 1, 8}, {8, 77, 1}}).contiguous());  // the stride of a dim of 1 says nothing
  EXPECT_FALSE((Layout{{4, 8}, {16, 1}}).contiguous());
  EXPECT_TRUE((Layout{{2048, 512}, {1, 2048}}).transposed_view());
  EXPECT_FALSE((Layout{{2048, 512}, {512, 1}}).transposed_view());
  EXPECT_FALSE((Layout{{512, 1}, {1, 1}}).transposed_view());
  EXPECT_TRUE((Layout{{32, 64, 56, 56}, {200704, 1, 3584, 64}}).channels_last());
  EXPECT_FALSE((Layout{{32, 64, 1, 1}, {64, 1, 1, 1}}).channels_last());  // both at once
}

TEST(TensorLayout, MergesLeadingDimsAndTheirStrides) {
  Layout layout{{8, 512, 768}, {393216, 768, 1}};
  ASSERT_TRUE(fit_rank(layout, 2, Leading::kMerge));
  EXPECT_THAT(layout.dims, ElementsAre(4096, 768));
  EXPECT_THAT(layout.strides, ElementsAre(768, 1));
  Layout slice{{8, 512, 768}, {1179648, 2304, 1}};
  ASSERT_TRUE(fit_rank(slice, 2, Leading::kMerge));
  EXPECT_THAT(slice.strides, ElementsAre(2304, 1));
}

TEST(TensorLayout, StridesThatNoMergedDimHasStayAsTheyWere) {
  Layout layout{{8, 12, 512, 64}, {393216, 64, 768, 1}};
  ASSERT_TRUE(fit_rank(layout, 2, Leading::kMerge));
  EXPECT_THAT(layout.dims, ElementsAre(49152, 64));
  EXPECT_THAT(layout.strides, ElementsAre(393216, 64, 768, 1));
  EXPECT_FALSE(layout.contiguous());
}

TEST(TensorLayout, OnlyDimsOfOneComeAndGoOtherwise) {
  Layout layout{{1, 1, 5, 7}, {35, 35, 7, 1}};
  ASSERT_TRUE(fit_rank(layout, 3, Leading::kKeep));
  EXPECT_THAT(layout.dims, ElementsAre(1, 5, 7));
  ASSERT_TRUE(fit_rank(layout, 4, Leading::kKeep));
  EXPECT_THAT(layout.dims, ElementsAre(1, 1, 5, 7));
  Layout full{{2, 5, 7}, {35, 7, 1}};
  EXPECT_FALSE(fit_rank(full, 2, Leading::kKeep));
}

}  // namespace
}  // namespace ak::plan
