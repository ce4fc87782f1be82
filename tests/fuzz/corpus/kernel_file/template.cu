/* autokernel
template = true
dtypes = ["f32"]
[tunables]
block_size = [16, 32, 64]
FAST = [true, false]
LAYOUT = ["rows", "columns"]
[defaults]
block_size = 16
FAST = true # comment
LAYOUT = 'rows'
[[launch]]
entry = "f"
grid = ["ceil_div(M, block_size)", "ceil_div(N, block_size)"]
block = ["block_size", "block_size"]
args = ["x", "y"]
*/
__global__ void f(float* x, float* y) { __shared__ float t[{block_size}][{block_size}]; {LAYOUT}{{FAST}} int a{3}; }
