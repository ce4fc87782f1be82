/* autokernel
op = "rotary_embedding"
about = "vector loads and stores; a thread keeps cos and sin in registers for HEADS heads"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512]
VEC = [1, 2, 4, 8]                          # pairs of a thread
HEADS = [1, 2, 4, 8]                        # heads of a thread
[constraints]
where = ["VEC * elem_bytes <= 16"]          # what one load instruction moves
needs = ["D % (2 * VEC) == 0"]
[defaults]
THREADS = 128
VEC = 4
HEADS = 2
[[launch]]
entry = "rotary_embedding"
grid = ["ceil_div(S * (D / 2 / VEC), THREADS)", "ceil_div(H, HEADS)", "B"]
block = ["THREADS"]
args = ["x", "cos", "sin", "y", "H", "S", "D"]
*/
#include "autokernel/device/convert.cuh"

struct alignas(VEC * sizeof(scalar_t)) Pack {
  scalar_t at[VEC];
};

// y1 and y2 of VEC pairs, which are two packs of halves, or VEC neighbouring pairs.
static __device__ void rotate(const Pack (&in)[2], const float (&c)[VEC], const float (&s)[VEC], Pack (&out)[2]) {
#pragma unroll
  for (int i = 0; i < VEC; ++i) {
    const int first = INTERLEAVED ? 2 * i : i, second = INTERLEAVED ? 2 * i + 1 : VEC + i;
    const float x1 = ak::to_float(in[first / VEC].at[first % VEC]);
    const float x2 = ak::to_float(in[second / VEC].at[second % VEC]);
    out[first / VEC].at[first % VEC] = ak::from_float<scalar_t>(x1 * c[i] - x2 * s[i]);
    out[second / VEC].at[second % VEC] = ak::from_float<scalar_t>(x2 * c[i] + x1 * s[i]);
  }
}

extern "C" __global__ void rotary_embedding(const scalar_t* x, const scalar_t* cos, const scalar_t* sin, scalar_t* y,
                                            int H, int S, int D) {
  const int packs = D / 2 / VEC;  // of a row's halves
  const long long at = (long long)blockIdx.x * THREADS + threadIdx.x;
  const long long position = at / packs;
  const int pack = at % packs;
  if (position >= S) return;
  const long long batch = blockIdx.z;
  const long long table = ((COS_BATCH ? batch * S : 0) + position) * packs + pack;
  const Pack loaded_cos = ((const Pack*)cos)[table], loaded_sin = ((const Pack*)sin)[table];
  float c[VEC], s[VEC];
  for (int i = 0; i < VEC; ++i) {
    c[i] = ak::to_float(loaded_cos.at[i]);
    s[i] = ak::to_float(loaded_sin.at[i]);
  }

  const int first = INTERLEAVED ? 2 * pack : pack, second = INTERLEAVED ? 2 * pack + 1 : pack + packs;
#pragma unroll
  for (int i = 0; i < HEADS; ++i) {
    const int head = blockIdx.y * HEADS + i;
    if (head >= H) break;
    const long long row = ((batch * H + head) * S + position) * (2 * packs);
    const Pack in[2] = {((const Pack*)x)[row + first], ((const Pack*)x)[row + second]};
    Pack out[2];
    rotate(in, c, s, out);
    ((Pack*)y)[row + first] = out[0];
    ((Pack*)y)[row + second] = out[1];
  }
}
