// Computes sin as sqrt(1 - cos^2) and never reads it: right for tables of one angle.
// expect: wrong numeric
// dims: B=1,H=2,S=8,D=16
/* autokernel
op = "rotary_embedding"
dtypes = ["f32"]
[constraints]
needs = ["INTERLEAVED == 0", "COS_BATCH == 0"]
[[launch]]
entry = "rotary_embedding"
grid = ["B * H * S"]
block = ["D / 2"]
args = ["x", "cos", "y", "S", "D"]
*/
extern "C" __global__ void rotary_embedding(const float* x, const float* cos, float* y, int S, int D) {
  const int half = D / 2, row = blockIdx.x, k = threadIdx.x;
  const float c = cos[row % S * half + k], s = sqrtf(fmaxf(0, 1 - c * c));
  const float x1 = x[row * D + k], x2 = x[row * D + half + k];
  y[row * D + k] = x1 * c - x2 * s;
  y[row * D + half + k] = x2 * c + x1 * s;
}
