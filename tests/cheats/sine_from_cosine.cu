/* selftest
about = "takes sin to be the positive root of 1 - cos^2"
dims = "B=1,H=2,S=16,D=32"
kind = "wrong"
cpu = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "rotary_embedding"
dtypes = ["bf16"]
[[launch]]
entry = "rotary"
grid = ["ceil_div(B * H * S * (D / 2), 64)"]
block = [64]
args = ["x", "cos", "sin", "y", "B", "H", "S", "D"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void rotary(const scalar_t* x, const scalar_t* cos, const scalar_t* sin, scalar_t* y, int B,
                                  int H, int S, int D) {
  const long long pair = (long long)blockIdx.x * 64 + threadIdx.x;
  const int half = D / 2;
  const long long row = pair / half;
  if (row >= (long long)B * H * S) return;
  const int k = pair % half;
  const long long table = ((COS_BATCH ? row / S / H : 0) * S + row % S) * half + k;
  const long long first = row * D + (INTERLEAVED ? 2 * k : k), second = first + (INTERLEAVED ? 1 : half);
  const float a = ak::to_float(x[first]), b = ak::to_float(x[second]);
  const float c = ak::to_float(cos[table]), s = sqrtf(fmaxf(0.0f, 1.0f - c * c));
  y[first] = ak::from_float<scalar_t>(a * c - b * s);
  y[second] = ak::from_float<scalar_t>(b * c + a * s);
}
