/* autokernel
dtypes = ["f32"]
[tunables]
AA = [1]
[constraints]
where = ["AA + "]
[defaults]
AA = 1
*/