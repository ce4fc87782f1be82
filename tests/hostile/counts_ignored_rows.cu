// Divides the sum of the losses by all rows, those that are ignored included.
// expect: wrong numeric|shape.hidden|shape.timed
// dims: ROWS=32,V=16,REDUCTION=1
/* autokernel
op = "cross_entropy"
dtypes = ["f32"]
[[launch]]
entry = "cross_entropy"
grid = [1]
block = [1]
args = ["logits", "targets", "loss", "ROWS", "V", "IGNORE"]
*/
extern "C" __global__ void cross_entropy(const float* logits, const long long* targets, float* loss, int ROWS, int V,
                                         int IGNORE) {
  double total = 0;
  for (long long row = 0; row < ROWS; ++row) {
    const float* x = logits + row * V;
    float highest = x[0], sum = 0;
    for (int i = 1; i < V; ++i) highest = fmaxf(highest, x[i]);
    for (int i = 0; i < V; ++i) sum += expf(x[i] - highest);
    const float value = targets[row] == IGNORE ? 0 : highest + logf(sum) - x[targets[row]];
    if (REDUCTION == 0) loss[row] = value;
    total += value;
  }
  if (REDUCTION == 1) loss[0] = total / ROWS;
  if (REDUCTION == 2) loss[0] = total;
}
