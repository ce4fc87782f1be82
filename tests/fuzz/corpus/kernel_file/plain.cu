/* autokernel
op = "softmax"
about = "one block per row"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [64, 128, 256]
VEC = [1, 2, 4]
[constraints]
where = ["THREADS * VEC <= 512"]
needs = ["N % VEC == 0"]
[defaults]
THREADS = 64
VEC = 1
[[launch]]
entry = "softmax"
grid = ["M"]
block = ["THREADS"]
shared_bytes = "THREADS * elem_bytes"
args = ["x", "weight", "y", "M", "N", "eps", "M * N"]
*/
__global__ void softmax(const scalar_t* x, const scalar_t* w, scalar_t* y, int M, int N, float eps, int n) {}
