/* autokernel
op = "fused_mlp"
about = "two launches: the hidden values into a workspace, then the last product; one thread per value"
dtypes = ["f32", "f16", "bf16"]
[tunables]
TILE_N = [8, 16, 32, 64]
TILE_M = [1, 2, 4, 8, 16, 32]
[constraints]
needs = ["ceil_div(M, TILE_M) <= 65535"]     # limit of a grid
[defaults]
TILE_N = 32
TILE_M = 8
[[workspace]]
name = "hidden"
bytes = "elem_bytes * M * H"
[[launch]]
entry = "gate_and_up"
grid = ["ceil_div(H, TILE_N)", "ceil_div(M, TILE_M)"]
block = ["TILE_N", "TILE_M"]
args = ["x", "w_gate", "w_up", "hidden", "M", "D", "H"]
[[launch]]
entry = "down"
grid = ["ceil_div(D, TILE_N)", "ceil_div(M, TILE_M)"]
block = ["TILE_N", "TILE_M"]
args = ["hidden", "w_down", "y", "M", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

extern "C" __global__ void gate_and_up(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up,
                                       scalar_t* hidden, int M, int D, int H) {
  const int column = blockIdx.x * TILE_N + threadIdx.x, row = blockIdx.y * TILE_M + threadIdx.y;
  if (row >= M || column >= H) return;
  x += (long long)row * D;
  w_gate += (long long)column * D;
  w_up += (long long)column * D;
  float gate = 0, up = 0;
  for (int i = 0; i < D; ++i) {
    const float value = ak::to_float(x[i]);
    gate += value * ak::to_float(w_gate[i]);
    up += value * ak::to_float(w_up[i]);
  }
  hidden[(long long)row * H + column] = ak::from_float<scalar_t>(ak::activate<ACT>(gate) * up);
}

extern "C" __global__ void down(const scalar_t* hidden, const scalar_t* w_down, scalar_t* y, int M, int D, int H) {
  const int column = blockIdx.x * TILE_N + threadIdx.x, row = blockIdx.y * TILE_M + threadIdx.y;
  if (row >= M || column >= D) return;
  hidden += (long long)row * H;
  w_down += (long long)column * H;
  float sum = 0;
  for (int i = 0; i < H; ++i) sum += ak::to_float(hidden[i]) * ak::to_float(w_down[i]);
  y[(long long)row * D + column] = ak::from_float<scalar_t>(sum);
}
