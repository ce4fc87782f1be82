// What the prelude's functions compute, against independent references.

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiled_kernel.h"

namespace ak::cpu {
namespace {

using PreludeTest = CompilerFixture;

/// float -> 16 bits with `fraction` bits of fraction and `exponent` bits of exponent, to nearest even, by
/// exhaustive definition: the representable neighbour of smallest distance.
class SmallFloat {
 public:
  SmallFloat(int exponent_bits, int fraction_bits)
      : exponent_bits_(exponent_bits), fraction_bits_(fraction_bits) {}
  double value(std::uint16_t bits) const {
    const int exponent = (bits >> fraction_bits_) & ((1 << exponent_bits_) - 1);
    const int fraction = bits & ((1 << fraction_bits_) - 1);
    const int bias = (1 << (exponent_bits_ - 1)) - 1;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits_) - 1) {
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits_);
    return sign * std::ldexp(fraction + (1 << fraction_bits_), exponent - bias - fraction_bits_);
  }
  /// Finite values only; what lies half a step or more above the largest becomes infinite.
  std::uint16_t nearest(double x) const {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::fabs(x);
    const std::uint16_t infinity = static_cast<std::uint16_t>(((1 << exponent_bits_) - 1) << fraction_bits_);
    std::uint16_t low = 0, high = infinity;
    while (high - low > 1) {
      const auto middle = static_cast<std::uint16_t>((low + high) / 2);
      (value(middle) <= magnitude ? low : high) = middle;
    }
    const double above =
        high == infinity ? 2 * value(low) - value(static_cast<std::uint16_t>(low - 1)) : value(high);
    const double to_low = magnitude - value(low), to_high = above - magnitude;
    const bool up = to_high < to_low || (to_high == to_low && (low & 1));
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }

 private:
  int exponent_bits_, fraction_bits_;
};

/// Numbers of every kind, with many that lie halfway between two 16-bit values.
std::vector<float> samples(const SmallFloat& format) {
  std::vector<float> out = {0.0f,     -0.0f,   1.0f,   65504.0f, 65519.0f,       65520.0f,
                            65536.0f, 3.0e38f, 1e-8f,  2.9e-8f,  2.98023224e-8f, 2.98023259e-8f,
                            6e-8f,    6.1e-5f, 1e-40f, -1e-45f,  3.3895314e38f,  3.3961775e38f};
  std::uint32_t state = 12345;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float any = std::bit_cast<float>(state);
    if (std::isfinite(any)) out.push_back(any);
    const auto bits = static_cast<std::uint16_t>(state >> 16);
    const double a = format.value(bits), b = format.value(static_cast<std::uint16_t>(bits + 1));
    if (std::isfinite(a) && std::isfinite(b)) {
      const auto half = static_cast<float>((a + b) / 2);
      out.insert(out.end(),
                 {half, std::nextafterf(half, 1e38f), std::nextafterf(half, -1e38f), static_cast<float>(a)});
    }
  }
  return out;
}

TEST_F(PreludeTest, HalfAndBfloat16ConversionsRoundToNearestEven) {
  const auto made =
      binary(source("__global__ void k(const float* x, unsigned short* half, unsigned short* brain, float* "
                    "half_back, float* brain_back, int n) {\n"
                    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
                    "  half[i] = __half_as_ushort(__float2half_rn(x[i]));\n  brain[i] = "
                    "__bfloat16_as_ushort(__float2bfloat16_rn(x[i]));\n"
                    "  half_back[i] = __half2float(__ushort_as_half(half[i]));\n"
                    "  brain_back[i] = __bfloat162float(__ushort_as_bfloat16(brain[i]));\n}\n"));
  ASSERT_TRUE(made);
  const LoadedModule module(*made);
  const SmallFloat half_format(5, 10), brain_format(8, 7);
  for (const SmallFloat* format : {&half_format, &brain_format}) {
    std::vector<float> x = samples(*format);
    int n = static_cast<int>(x.size());
    std::vector<unsigned short> half(x.size()), brain(x.size());
    std::vector<float> half_back(x.size()), brain_back(x.size());
    const float* px = x.data();
    unsigned short *ph = half.data(), *pb = brain.data();
    float *phb = half_back.data(), *pbb = brain_back.data();
    for (unsigned b = 0; b * 256 < x.size(); ++b)
      module.run_block(0, {&px, &ph, &pb, &phb, &pbb, &n}, {256, 1, 1}, {b, 0, 0});
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(half[i], half_format.nearest(x[i])) << x[i];
      ASSERT_EQ(brain[i], brain_format.nearest(x[i])) << x[i];
      ASSERT_EQ(half_back[i], half_format.value(half[i]));
      ASSERT_EQ(brain_back[i], static_cast<float>(brain_format.value(brain[i])));
    }
  }
}

TEST_F(PreludeTest, EveryHalfConvertsToFloatAndBack) {
  const auto made = binary(source(
      "__global__ void k(float* back, unsigned short* again) {\n  int i = blockIdx.x * 1024 + threadIdx.x;\n"
      "  back[i] = __half2float(__ushort_as_half((unsigned short)i));\n"
      "  again[i] = __half_as_ushort(__float2half(back[i]));\n}\n"));
  ASSERT_TRUE(made);
  const LoadedModule module(*made);
  std::vector<float> back(65536);
  std::vector<unsigned short> again(65536);
  float* pb = back.data();
  unsigned short* pa = again.data();
  for (unsigned b = 0; b < 64; ++b) module.run_block(0, {&pb, &pa}, {1024, 1, 1}, {b, 0, 0});
  const SmallFloat format(5, 10);
  for (unsigned i = 0; i < 65536; ++i) {
    const double wanted = format.value(static_cast<std::uint16_t>(i));
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(back[i])) << i;
    } else {
      ASSERT_EQ(static_cast<double>(back[i]), wanted) << i;
      ASSERT_EQ(again[i], i);
    }
  }
}

TEST_F(PreludeTest, HalfArithmeticRoundsOnceAndComparesLikeFloat) {
  const auto made =
      binary(source("__global__ void k(const unsigned short* in, unsigned short* out, int n) {\n"
                    "  int i = threadIdx.x;\n  if (i >= n) return;\n"
                    "  __half a = __ushort_as_half(in[3 * i]), b = __ushort_as_half(in[3 * i + 1]), c = "
                    "__ushort_as_half(in[3 * i + 2]);\n"
                    "  __half2 two = __hfma2(__halves2half2(a, b), __half2half2(c), __half2half2(a));\n"
                    "  __half r[6] = {a + b, a * b, a / b, __hfma(a, b, c), __low2half(two), "
                    "__double2half(1.0 + 0x1p-11 + 0x1p-40)};\n"
                    "  for (int j = 0; j < 6; ++j) out[6 * i + j] = __half_as_ushort(r[j]);\n}\n"));
  ASSERT_TRUE(made);
  const SmallFloat format(5, 10);
  const int n = 700;
  std::vector<unsigned short> in, out(6 * n);
  std::uint32_t state = 7;
  for (int i = 0; i < 3 * n; ++i) {
    state = state * 1664525u + 1013904223u;
    in.push_back(static_cast<unsigned short>((state >> 16 & 0x8fffu) | 0x2000u | (state >> 8 & 0x1000u)));
  }
  const unsigned short* pi = in.data();
  unsigned short* po = out.data();
  int count = n;
  LoadedModule(*made).run_block(0, {&pi, &po, &count}, {1024, 1, 1});
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double a = format.value(in[3 * i]), b = format.value(in[3 * i + 1]),
                 c = format.value(in[3 * i + 2]);
    ASSERT_EQ(out[6 * i], format.nearest(a + b)) << a << " " << b;
    ASSERT_EQ(out[6 * i + 1], format.nearest(a * b)) << a << " " << b;
    ASSERT_EQ(out[6 * i + 2], format.nearest(a / b)) << a << " " << b;
    ASSERT_EQ(out[6 * i + 3], format.nearest(std::fma(a, b, c))) << a << " " << b << " " << c;
    ASSERT_EQ(out[6 * i + 4], format.nearest(std::fma(a, c, a)));
    ASSERT_EQ(out[6 * i + 5], 0x3c01);
  }
}

/// Runs `body` with `float* f`, `int* n` and `unsigned* u` of 64 elements.
struct Results {
  std::vector<float> f = std::vector<float>(64);
  std::vector<int> n = std::vector<int>(64);
  std::vector<unsigned> u = std::vector<unsigned>(64);
};
class BodyTest : public CompilerFixture {
 protected:
  Results run(const std::string& body) {
    Results results;
    const auto made = binary(source("__global__ void k(float* f, int* n, unsigned* u) {\n" + body + "\n}\n"));
    if (!made) return results;
    float* f = results.f.data();
    int* n = results.n.data();
    unsigned* u = results.u.data();
    f[60] = std::numeric_limits<float>::quiet_NaN();
    f[61] = std::numeric_limits<float>::infinity();
    f[62] = 2.5f;
    f[63] = 1.0f + 0x1p-12f;
    LoadedModule(*made).run_block(0, {&f, &n, &u}, {1, 1, 1});
    return results;
  }
};

TEST_F(BodyTest, MinimumAndMaximumPreferNumbersToNans) {
  const Results r =
      run("float nan = f[60]; f[0] = fminf(nan, 1); f[1] = fminf(1, nan); f[2] = fmaxf(nan, -1); f[3] = "
          "fmaxf(-1, nan);\n"
          "f[4] = fmaxf(nan, nan); f[5] = max(2.0f, 3.0f); n[0] = max(-1, 2); u[0] = min(3u, 4); n[1] = "
          "fminf(-0.0f, 1.0f) == 0;");
  EXPECT_EQ(r.f[0], 1);
  EXPECT_EQ(r.f[1], 1);
  EXPECT_EQ(r.f[2], -1);
  EXPECT_EQ(r.f[3], -1);
  EXPECT_TRUE(std::isnan(r.f[4]));
  EXPECT_EQ(r.f[5], 3);
  EXPECT_EQ(r.n[0], 2);
  EXPECT_EQ(r.u[0], 3u);
  EXPECT_EQ(r.n[1], 1);
}

TEST_F(BodyTest, ConversionsToIntegersRoundAndSaturate) {
  const Results r =
      run("float x = f[62]; n[0] = __float2int_rn(x); n[1] = __float2int_rz(-x); n[2] = __float2int_ru(x); "
          "n[3] = __float2int_rd(-x);\n"
          "n[4] = __float2int_rz(f[61]); n[5] = __float2int_rz(-f[61]); n[6] = __float2int_rz(f[60]); u[0] = "
          "__float2uint_rn(-x);\n"
          "u[1] = __float2uint_rn(f[61]); n[7] = __float2ll_rz(f[61]) == 9223372036854775807ll; n[8] = "
          "__half2int_rn(__float2half(3.5f));");
  EXPECT_THAT(std::vector<int>(r.n.begin(), r.n.begin() + 9),
              testing::ElementsAre(2, -2, 3, -3, 2147483647, -2147483647 - 1, 0, 1, 4));
  EXPECT_EQ(r.u[0], 0u);
  EXPECT_EQ(r.u[1], 4294967295u);
}

TEST_F(BodyTest, SeparatelyRoundedOperationsAreNotFused) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is lost by rounding the product on its own.
  const Results r =
      run("float x = f[63]; f[0] = __fadd_rn(__fmul_rn(x, x), -(1.0f + 0x1p-11f)); f[1] = fmaf(x, x, -(1.0f "
          "+ 0x1p-11f));");
  EXPECT_EQ(r.f[0], 0.0f);
  EXPECT_EQ(r.f[1], 0x1p-24f);
}

TEST_F(BodyTest, IntegerIntrinsicsFollowTheProgrammingGuide) {
  const Results r =
      run("n[0] = __popc(0xf0f0u); n[1] = __clz(1); n[2] = __clz(0); n[3] = __ffs(8); n[4] = __ffs(0); n[5] "
          "= __mulhi(1 << 30, 8);\n"
          "n[6] = __dp4a(0x01020304, 0x01010101, 10); n[7] = __dp4a((int)0xff000000, 0x02000000, 0); n[8] = "
          "__mul24(-3, 5);\n"
          "u[0] = __brev(1u); u[1] = __byte_perm(0x33221100u, 0x77665544u, 0x7410u); u[2] = "
          "__umulhi(0x80000000u, 6u);\n"
          "u[3] = __funnelshift_l(0x80000000u, 1u, 1); u[4] = __funnelshift_r(1u, 2u, 1); u[5] = "
          "__byte_perm(0x80u, 0, 0x8888u);");
  EXPECT_THAT(std::vector<int>(r.n.begin(), r.n.begin() + 9),
              testing::ElementsAre(8, 31, 32, 4, 0, 2, 20, -2, -15));
  EXPECT_THAT(std::vector<unsigned>(r.u.begin(), r.u.begin() + 6),
              testing::ElementsAre(0x80000000u, 0x77441100u, 3u, 3u, 0u, 0xffffffffu));
}

TEST_F(BodyTest, AtomicsReturnWhatWasThere) {
  const Results r =
      run("n[0] = 5; n[10] = atomicAdd(&n[0], 2); n[11] = atomicSub(&n[0], 1); n[12] = atomicMax(&n[0], 9); "
          "n[13] = atomicMin(&n[0], 3);\n"
          "n[14] = atomicCAS(&n[0], 3, 8); n[15] = atomicCAS(&n[0], 3, 9); n[16] = atomicExch(&n[0], 1); "
          "n[17] = atomicAnd(&n[0], 0);\n"
          "u[0] = 2; u[10] = atomicInc(&u[0], 2); u[11] = atomicInc(&u[0], 2); u[12] = atomicDec(&u[0], 7); "
          "u[13] = atomicXor(&u[0], 1);\n"
          "f[0] = 1; f[10] = atomicAdd(&f[0], 0.5f); __half h[2] = {1.0f, 2.0f}; f[11] = "
          "__half2float(atomicAdd(&h[1], __half(3.0f)));\n"
          "f[12] = __half2float(h[1]); f[13] = __half2float(h[0]);");
  EXPECT_THAT(std::vector<int>(r.n.begin() + 10, r.n.begin() + 18),
              testing::ElementsAre(5, 7, 6, 9, 3, 8, 8, 1));
  EXPECT_THAT(std::vector<unsigned>(r.u.begin() + 10, r.u.begin() + 14), testing::ElementsAre(2, 0, 1, 0));
  EXPECT_EQ(r.u[0], 1u);
  EXPECT_EQ(r.f[0], 1.5f);
  EXPECT_EQ(r.f[10], 1.0f);
  EXPECT_EQ(r.f[11], 2.0f);
  EXPECT_EQ(r.f[12], 5.0f);
  EXPECT_EQ(r.f[13], 1.0f);
}

TEST_F(BodyTest, VectorTypesHaveTheirSizesAndAlignments) {
  run("static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(float3) == 12 && alignof(int2) "
      "== 8, \"\");\n"
      "static_assert(sizeof(__half2) == 4 && alignof(__half2) == 4 && sizeof(__nv_bfloat162) == 4 && "
      "sizeof(double2) == 16, \"\");\n"
      "static_assert(sizeof(dim3) == 12 && sizeof(uchar4) == 4 && alignof(ushort4) == 8 && sizeof(longlong2) "
      "== 16, \"\");\n"
      "float4 v = make_float4(1, 2, 3, 4); f[0] = v.w; dim3 d(3); f[1] = d.y; dim3 b = blockDim; uint3 t = "
      "threadIdx; f[2] = b.x + t.x;");
}

TEST_F(BodyTest, FloatsReadThroughVectorsAreNotStale) {
  const Results r =
      run("for (int i = 0; i < 8; ++i) f[i] = i; float4 v = *reinterpret_cast<float4*>(f + 4);\n"
          "*reinterpret_cast<int4*>(n) = make_int4(1, 2, 3, 4); f[10] = v.x + v.w + n[2];");
  EXPECT_EQ(r.f[10], 4 + 7 + 3);
}

TEST_F(BodyTest, MathFunctionsAreThoseOfTheLibrary) {
  const Results r =
      run("float x = f[62]; f[0] = rsqrtf(x); f[1] = exp2f(x); f[2] = tanh(x); f[3] = __expf(x); f[4] = "
          "__fdividef(x, 2);\n"
          "f[5] = erff(x); f[6] = sinpif(x); f[7] = __saturatef(x); f[8] = __frcp_rn(x); f[9] = powf(x, 3); "
          "f[10] = abs(-x);");
  EXPECT_FLOAT_EQ(r.f[0], 1 / std::sqrt(2.5f));
  EXPECT_FLOAT_EQ(r.f[1], std::exp2(2.5f));
  EXPECT_FLOAT_EQ(r.f[2], std::tanh(2.5f));
  EXPECT_FLOAT_EQ(r.f[3], std::exp(2.5f));
  EXPECT_EQ(r.f[4], 1.25f);
  EXPECT_FLOAT_EQ(r.f[5], std::erf(2.5f));
  EXPECT_NEAR(r.f[6], 1.0f, 1e-6f);
  EXPECT_EQ(r.f[7], 1.0f);
  EXPECT_EQ(r.f[8], 0.4f);
  EXPECT_FLOAT_EQ(r.f[9], 15.625f);
  EXPECT_EQ(r.f[10], 2.5f);
}

class WarpTest : public CompilerFixture {
 protected:
  /// Runs a warp; lane i's result is out[i].
  std::vector<long long> run(const std::string& expression, unsigned threads = 32) {
    std::vector<long long> out(32, -1);
    const auto made =
        binary(source("#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
                      "__global__ void k(long long* out) { int i = threadIdx.x; unsigned all = 0xffffffffu;\n"
                      "long long r = " +
                      expression + "; out[i] = r; }\n"));
    if (!made) return out;
    long long* p = out.data();
    LoadedModule(*made).run_threads(0, {&p}, threads);
    return out;
  }
};

TEST_F(WarpTest, ShufflesMoveValuesWithinTheirSegments) {
  const auto broadcast = run("__shfl_sync(all, i * 10, 3)");
  const auto segment = run("__shfl_sync(all, i, 1, 8)");
  const auto up = run("__shfl_up_sync(all, i, 2, 8)");
  const auto down = run("__shfl_down_sync(all, i, 3, 16)");
  const auto other = run("__shfl_xor_sync(all, i, 5)");
  for (int i = 0; i < 32; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(broadcast[at], 30);
    EXPECT_EQ(segment[at], i / 8 * 8 + 1);
    EXPECT_EQ(up[at], i % 8 < 2 ? i : i - 2);
    EXPECT_EQ(down[at], i % 16 < 13 ? i + 3 : i);
    EXPECT_EQ(other[at], i ^ 5);
  }
}

TEST_F(WarpTest, ShufflesCarryEveryUsualType) {
  EXPECT_EQ(run("(long long)(2 * __shfl_sync(all, i + 0.5, 4))")[9], 9);
  EXPECT_EQ(run("(long long)__half2float(__shfl_sync(all, __float2half(i), 7))")[0], 7);
  EXPECT_EQ(run("__shfl_sync(all, 1ll << 40 | i, 2)")[31], 1ll << 40 | 2);
  EXPECT_EQ(run("(long long)__low2float(__shfl_xor_sync(all, __float2half2_rn(i), 1))")[6], 7);
}

TEST_F(WarpTest, VotesMatchesAndReductions) {
  EXPECT_EQ(run("__ballot_sync(all, i % 2)")[5], 0xaaaaaaaall);
  EXPECT_EQ(run("__any_sync(all, i == 31)")[0], 1);
  EXPECT_EQ(run("__all_sync(all, i < 31)")[0], 0);
  EXPECT_EQ(run("__all_sync(all, i < 32)")[0], 1);
  EXPECT_EQ(run("__match_any_sync(all, i / 8)")[9], 0xff00ll);
  EXPECT_EQ(run("__reduce_add_sync(all, i)")[3], 496);
  EXPECT_EQ(run("__reduce_max_sync(all, -i)")[3], 0);
  EXPECT_EQ(run("__reduce_or_sync(all, 1u << i)")[3], 0xffffffffll);
  EXPECT_EQ(run("[&] { int same; unsigned m = __match_all_sync(all, 4, &same); return same ? (long long)m : "
                "-1ll; }()")[0],
            0xffffffffll);
}

TEST_F(WarpTest, BlockVotesCount) {
  EXPECT_EQ(run("__syncthreads_count(i < 5)")[20], 5);
  EXPECT_EQ(run("__syncthreads_and(i < 32)")[20], 1);
  EXPECT_EQ(run("__syncthreads_or(i > 40)")[20], 0);
}

TEST_F(WarpTest, CooperativeTilesAreShuffles) {
  EXPECT_EQ(run("cg::tiled_partition<8>(cg::this_thread_block()).shfl(i, 2)")[13], 10);
  EXPECT_EQ(run("cg::tiled_partition<4>(cg::this_thread_block()).ballot(i % 2)")[13], 0xa);
  EXPECT_EQ(run("cg::reduce(cg::tiled_partition<16>(cg::this_thread_block()), i, cg::plus<int>())")[0], 120);
}

TEST_F(WarpTest, AShortWarpReducesWhatIsThere) { EXPECT_EQ(run("__reduce_add_sync(0x7u, i)", 3)[1], 3); }

}  // namespace
}  // namespace ak::cpu
