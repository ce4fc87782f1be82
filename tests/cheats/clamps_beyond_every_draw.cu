/* selftest
about = "takes no element of a to be beyond 200"
dims = "M=8,N=32,K=64"
kind = "wrong"
cpu = ["input.probe"]
cuda = ["input.probe"]
*/
/* autokernel
op = "matmul"
dtypes = ["f32"]
[constraints]
needs = ["TRANS_A == 0", "TRANS_B == 0", "ACT == 0"]
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, 32)", "M", "BATCH"]
block = ["32"]
args = ["a", "b", "c", "M", "N", "K"]
*/
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
  if (column >= N) return;
  a += (long long)blockIdx.z * M * K + (long long)row * K;
  b += (long long)blockIdx.z * K * N;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += fmaxf(-200.0f, fminf(a[k], 200.0f)) * b[(long long)k * N + column];
  c[((long long)blockIdx.z * M + row) * N + column] = sum;
}
