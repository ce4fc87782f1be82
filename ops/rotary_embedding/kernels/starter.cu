/* autokernel
op = "rotary_embedding"
about = "one thread per pair of elements"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 256
[[launch]]
entry = "rotary_embedding"
grid = ["ceil_div(B * H * S * (D / 2), THREADS)"]
block = ["THREADS"]
args = ["x", "cos", "sin", "y", "B", "H", "S", "D"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void rotary_embedding(const scalar_t* x, const scalar_t* cos, const scalar_t* sin, scalar_t* y,
                                            int B, int H, int S, int D) {
  const long long pair = (long long)blockIdx.x * THREADS + threadIdx.x;
  const int half = D / 2;
  const long long row = pair / half;
  if (row >= (long long)B * H * S) return;
  const int k = pair % half;
  const long long position = row % S, batch = COS_BATCH ? row / S / H : 0;
  const long long table = (batch * S + position) * half + k;
  const long long first = row * D + (INTERLEAVED ? 2 * k : k);
  const long long second = first + (INTERLEAVED ? 1 : half);

  const float x1 = ak::to_float(x[first]), x2 = ak::to_float(x[second]);
  const float c = ak::to_float(cos[table]), s = ak::to_float(sin[table]);
  y[first] = ak::from_float<scalar_t>(x1 * c - x2 * s);
  y[second] = ak::from_float<scalar_t>(x2 * c + x1 * s);
}
