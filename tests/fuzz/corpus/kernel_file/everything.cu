// licence /* autokernel in quotes */
/* another */
/* autokernel
op = "x"
dtypes = ["f16"]
arch = ["cpu", "sm_90a"]
specialize = ["N", "K"]
max_registers = "VEC > 2 ? 64 : 128"
[tunables]
VEC = [1, 2, 4]
[constraints]
where = ["""VEC > 0 &&
  VEC < 100""", "N / K > 0 || true"]
[defaults]
VEC = 2
[[workspace]]
name = "partial"
bytes = "M * 4"
zeroed = true
[[tensormap]]
name = "map"
tensor = "x"
box = [1, "VEC"]
swizzle = 32
[[launch]]
entry = "first"
grid = ["M", 1, 1]
block = [32, "VEC"]
cluster = [1]
cooperative = true
args = ["x", "partial", "map", 3, "HAS_WEIGHT"]
[[launch]]
entry = "second"
grid = [1]
block = [1]
args = []
*/
extern "C" __global__ void __launch_bounds__(256) first() {}
__global__ void second() {}
const char* s = R"(/* autokernel)";
