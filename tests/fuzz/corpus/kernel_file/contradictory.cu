/* autokernel
dtypes = ["f32"]
[tunables]
AA = [1, 2]
[constraints]
where = ["AA > 1", "AA < 2"]
[defaults]
AA = 1
[[launch]]
entry = "f"
grid = [1]
block = [1]
args = ["AA", "z"]
*/ f