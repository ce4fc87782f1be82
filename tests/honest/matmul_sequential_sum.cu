/* selftest
about = "one thread an element, K = 8192 terms added one after another in fp32"
dims = "M=8,N=9,K=8192"
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
  b += (long long)blockIdx.z * K * N + column;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum = fmaf(a[k], b[(long long)k * N], sum);
  c[((long long)blockIdx.z * M + row) * N + column] = sum;
}
