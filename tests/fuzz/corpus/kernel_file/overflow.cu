/* autokernel
dtypes = ["f32"]
defaults = {AA=1, BB="a\"b"}
tunables = {AA=[1,2], BB=["a\"b", "c"]}
[[launch]]
entry = "f"
grid = ["9223372036854775807 * AA"]
block = [1]
args = []
*/ f