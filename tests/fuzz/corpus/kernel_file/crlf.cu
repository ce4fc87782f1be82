/* autokernel
dtypes = ["f32"]
[[launch]]
entry = "f"
grid = [1]
block = [1]
args = []
*/
f