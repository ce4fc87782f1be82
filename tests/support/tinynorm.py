"""rmsnorm under another name, with few and small sizes, and kernels of it: what tests of whole runs work on.

The test puts tests/support on sys.path:  import tinynorm
"""
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_family(folder: pathlib.Path, sweep: str, primary: str) -> None:
    """`sweep`, `primary`: one size each, e.g. "M = 8, N = 48"."""
    shutil.copytree(ROOT / "ops" / "rmsnorm", folder)
    toml = (folder / "op.toml").read_text()
    begin, end = toml.index("[sizes]"), toml.index("[[draw]]")
    sizes = "".join(f"{name} = [{{ {size} }}]\n" for name, size in
                    {"smoke": "M = 2, N = 32", "sweep": sweep, "edge": "M = 1, N = 1", "primary": primary}.items())
    toml = f"{toml[:begin]}[sizes]\n{sizes}\n{toml[end:]}"
    (folder / "op.toml").write_text(toml.replace('name = "rmsnorm"', 'name = "tinynorm"'))
    for file in folder.rglob("*.cu"):
        file.write_text(file.read_text().replace('op = "rmsnorm"', 'op = "tinynorm"'))


def kernel(tunables: dict, passes: str) -> str:
    """A kernel of LANES rows a block that sums each row `passes` times (an expression); [defaults] are the first values."""
    values = "\n".join(f"{name} = {each}" for name, each in tunables.items())
    defaults = "\n".join(f"{name} = {each[0]}" for name, each in tunables.items())
    return f"""/* autokernel
op = "tinynorm"
dtypes = ["f32"]
[tunables]
{values}
[defaults]
{defaults}
[[launch]]
entry = "norm"
grid = ["ceil_div(M, LANES)"]
block = ["LANES"]
args = ["x", "weight", "y", "M", "N", "eps"]
*/
extern "C" __global__ void norm(const float* x, const float* weight, float* y, int M, int N, float eps) {{
  const int row = blockIdx.x * LANES + threadIdx.x;
  if (row >= M) return;
  float squares = 0;
  for (int pass = 0; pass < {passes}; ++pass) {{
    float sum = 0;
    for (int i = 0; i < N; ++i) sum += x[row * N + i] * x[row * N + i];
    squares = sum + 0 * squares;
  }}
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[row * N + i] = x[row * N + i] * rstd * weight[i];
}}
"""
