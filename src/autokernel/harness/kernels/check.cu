// Trusted: poison, comparison with the reference, digests. One file per dtype of the tensor (scalar_t). BLOCK threads
// work on a row (1 on the CPU device, where a loop is faster than fibers).

typedef unsigned long long ak_u64;
#if defined(AK_DTYPE_F32)
typedef unsigned int ak_bits;
#else
typedef unsigned short ak_bits;
#endif

__device__ inline ak_u64 ak_mix(ak_u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A signalling NaN with a payload that depends on the element, or (finite) bits of an ordinary small number.
__device__ inline ak_bits ak_poison_bits(ak_u64 seed, ak_u64 i, int finite) {
  ak_u64 h = ak_mix(seed ^ ak_mix(i));
#if defined(AK_DTYPE_F32)
  return finite ? (ak_bits)(0x3e800000u | (h & 0x80ffffffu)) : (ak_bits)(0x7f800001u | (h & 0x803ffffeu));
#elif defined(AK_DTYPE_F16)
  return finite ? (ak_bits)(0x3400u | (h & 0x87ffu)) : (ak_bits)(0x7c01u | (h & 0x81feu));
#else
  return finite ? (ak_bits)(0x3e80u | (h & 0x80ffu)) : (ak_bits)(0x7f81u | (h & 0x803eu));
#endif
}

extern "C" __global__ void ak_poison(ak_bits* out, long long elements, long long seed, int finite) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) out[i] = ak_poison_bits((ak_u64)seed, (ak_u64)i, finite);
}

__device__ inline double ak_as_double(ak_bits bits) {
  scalar_t value;
  memcpy(&value, &bits, sizeof value);
  return (double)(float)value;
}

__device__ inline int ak_class(double x) { return x != x ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0; }

struct ak_row {
  double worst, where, bad, sum_y, sum_b, sum_u, sum_s, unequal, left;
};

__device__ inline void ak_merge(ak_row& into, const ak_row& other) {
  if (other.worst > into.worst) {
    into.worst = other.worst;
    into.where = other.where;
  }
  into.bad += other.bad;
  into.sum_y += other.sum_y;
  into.sum_b += other.sum_b;
  into.sum_u += other.sum_u;
  into.sum_s += other.sum_s;
  into.unequal += other.unequal;
  into.left += other.left;
}

// Per part of a row: the largest |y - r| / bound and where, how many elements are out of bounds (or differ in class), the sums of
// squares of y - r, b - r, u r and S, how many elements differ from b, how many still hold the poison.
// bound = 1.01 max(u |r|, tiny) + c u32 S + 2 u_in (I0 + I1); a value beyond `largest` may be an infinity. A row has
// `parts` parts of `part_elements` (the last may be shorter), so that one long row occupies more than one block.
extern "C" __global__ void ak_compare(const ak_bits* y, const double* r, const double* s, const double* i0,
                                      const double* i1, const ak_bits* b, long long row_elements, long long parts,
                                      long long part_elements, double u, double tiny, double c, double u_in,
                                      double largest, long long poison_seed, double* rows) {
  const long long base = blockIdx.x / parts * row_elements, first = blockIdx.x % parts * part_elements;
  const long long end = first + part_elements < row_elements ? first + part_elements : row_elements;
  ak_row mine = {0, -1, 0, 0, 0, 0, 0, 0, 0};
  for (long long k = first + threadIdx.x; k < end; k += BLOCK) {
    long long i = base + k;
    ak_bits y_bits = y[i];
    double value = ak_as_double(y_bits), exact = r[i], size = s ? s[i] : 0.0;
    if (poison_seed && y_bits == ak_poison_bits((ak_u64)poison_seed, (ak_u64)i, 0)) mine.left += 1;
    int y_class = ak_class(value), r_class = ak_class(exact);
    // Zeros of either sign are equal, and so are NaNs of any payload.
    if (b && y_bits != b[i] && !(value == 0 && ak_as_double(b[i]) == 0) &&
        !(y_class == 3 && ak_class(ak_as_double(b[i])) == 3)) {
      mine.unequal += 1;
    }
    double bound = 1.01 * fmax(u * fabs(exact), tiny) + c * 5.9604644775390625e-08 * size;
    if (i0) bound += 2 * u_in * i0[i];
    if (i1) bound += 2 * u_in * i1[i];
    double ratio;
    if (y_class || r_class) {
      bool overflows = r_class == 0 && fabs(exact) + bound >= largest && y_class == (exact > 0 ? 1 : 2);
      ratio = y_class == r_class || overflows ? 0 : 1e300;
    } else {
      double d = value - exact;
      ratio = fabs(d) / bound;
      mine.sum_y += d * d;
      if (b) {
        double db = ak_as_double(b[i]) - exact;
        if (ak_class(db) == 0) mine.sum_b += db * db;
      }
      mine.sum_u += u * exact * u * exact;
      mine.sum_s += size * size;
    }
    if (!(ratio <= 1)) mine.bad += 1;
    if (!(ratio <= mine.worst)) {
      mine.worst = ratio;
      mine.where = (double)i;
    }
  }
#if BLOCK > 1
  __shared__ ak_row merged[BLOCK];
  merged[threadIdx.x] = mine;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if ((int)threadIdx.x < half) ak_merge(merged[threadIdx.x], merged[threadIdx.x + half]);
    __syncthreads();
  }
  mine = merged[0];
#endif
  if (threadIdx.x == 0) {
    double* out = rows + (long long)blockIdx.x * 9;
    out[0] = mine.worst;
    out[1] = mine.where;
    out[2] = mine.bad;
    out[3] = mine.sum_y;
    out[4] = mine.sum_b;
    out[5] = mine.sum_u;
    out[6] = mine.sum_s;
    out[7] = mine.unequal;
    out[8] = mine.left;
  }
}

// Folds `count` rows of ak_compare, `parts` results each, into two of the same form: the rows with S > 0, their sums of squares divided by
// that of S (which becomes 1), and those with S = 0. One block.
extern "C" __global__ void ak_fold_rows(const double* rows, long long count, long long parts, double* out) {
  ak_row mine[2] = {{0, -1, 0, 0, 0, 0, 0, 0, 0}, {0, -1, 0, 0, 0, 0, 0, 0, 0}};
  for (long long k = threadIdx.x; k < count; k += BLOCK) {
    ak_row each = {0, -1, 0, 0, 0, 0, 0, 0, 0};
    for (long long part = k * parts; part < (k + 1) * parts; ++part) {
      const double* v = rows + part * 9;
      ak_merge(each, {v[0] <= 1e299 ? v[0] : 1e300, v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]});
    }
    bool sized = each.sum_s > 0;
    double scale = sized ? 1.0 / each.sum_s : 1.0;
    each.sum_y *= scale;
    each.sum_b *= scale;
    each.sum_u *= scale;
    each.sum_s = 0;
    ak_merge(mine[sized ? 0 : 1], each);
  }
#if BLOCK > 1
  __shared__ ak_row merged[BLOCK];
  for (int part = 0; part < 2; ++part) {
    __syncthreads();
    merged[threadIdx.x] = mine[part];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
      if ((int)threadIdx.x < half) ak_merge(merged[threadIdx.x], merged[threadIdx.x + half]);
      __syncthreads();
    }
    mine[part] = merged[0];
  }
#endif
  if (threadIdx.x != 0) return;
  for (int part = 0; part < 2; ++part) {
    double* to = out + part * 9;
    to[0] = mine[part].worst;
    to[1] = mine[part].where;
    to[2] = mine[part].bad;
    to[3] = mine[part].sum_y;
    to[4] = mine[part].sum_b;
    to[5] = mine[part].sum_u;
    to[6] = part == 0 ? 1.0 : 0.0;
    to[7] = mine[part].unequal;
    to[8] = mine[part].left;
  }
}
