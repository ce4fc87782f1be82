/* selftest
about = "does not subtract the maximum"
dims = "ROWS=8,V=512"
kind = "wrong"
cpu = ["input.secret", "numeric", "shape.edge"]
cuda = ["input.secret", "numeric", "shape.edge"]
*/
/* autokernel
op = "cross_entropy"
dtypes = ["f32"]
[[workspace]]
name = "losses"
bytes = "8 * ROWS"
[[launch]]
entry = "row_loss"
grid = ["ROWS"]
block = [1]
args = ["logits", "targets", "losses", "V", "IGNORE"]
[[launch]]
entry = "put_together"
grid = [1]
block = [1]
args = ["targets", "losses", "loss", "ROWS", "IGNORE"]
*/
extern "C" __global__ void row_loss(const float* logits, const long long* targets, double* losses, int V, int IGNORE) {
  const long long target = targets[blockIdx.x];
  const float* x = logits + (long long)blockIdx.x * V;
  if (target == IGNORE) {
    losses[blockIdx.x] = 0;
    return;
  }
  float highest = x[0], sum = 0;
  for (int i = 1; i < V; ++i) highest = fmaxf(highest, x[i]);
  for (int i = 0; i < V; ++i) sum += expf(x[i]);
  losses[blockIdx.x] = (double)(-x[target]) + (double)logf(sum);
}

extern "C" __global__ void put_together(const long long* targets, const double* losses, float* loss, int ROWS,
                                        int IGNORE) {
  double sum = 0;
  int count = 0;
  for (int row = 0; row < ROWS; ++row) {
    if (REDUCTION == 0) loss[row] = (float)losses[row];
    sum += losses[row];
    count += targets[row] != IGNORE;
  }
  if (REDUCTION == 1) loss[0] = (float)(sum / count);
  if (REDUCTION == 2) loss[0] = (float)sum;
}
