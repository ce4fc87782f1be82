#include "autokernel/base/random.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cmath>

namespace ak {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// ln(x) for normal x > 0 from +, -, * and / alone, because libm's log may differ in the last bit between
/// machines. With m in [sqrt(1/2), sqrt(2)) and z = (m-1)/(m+1): ln m = 2 (z + z^3/3 + ...), |z| < 0.172,
/// so that the first term left out is below 1e-19.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return exponent * 0.69314718055994531 + 2 * z * sum;
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (std::uint64_t& word : s_) word = split_mix(seed);
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(s_[1] * 5, 7) * 9;
  const std::uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = std::rotl(s_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  AK_CHECK(bound > 0);
  // Lemire, "Fast random integer generation in an interval" (2019): the high word of a product, and rejection
  // of the few low words that would favour some results.
  using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(next()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Rng::normal() {
  // Marsaglia's polar method. Its second value is thrown away, so that the state stays the four words.
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

std::string Rng::state() const {
  return fmt::format("{:016x}{:016x}{:016x}{:016x}", s_[0], s_[1], s_[2], s_[3]);
}

Status Rng::restore(std::string_view state) {
  std::uint64_t words[4] = {};
  bool valid = state.size() == 64;
  for (std::size_t i = 0; valid && i < 64; ++i) {
    const char c = state[i];
    valid = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    words[i / 16] = words[i / 16] << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  // All zeros is the one state that the generator never leaves and `state` never writes.
  if (!valid || (words[0] | words[1] | words[2] | words[3]) == 0) {
    return usage_error("not a state of the random number generator: expected 64 hex digits");
  }
  for (int i = 0; i < 4; ++i) s_[i] = words[i];
  return {};
}

std::uint64_t secret_seed() {
  std::uint64_t seed = 0;
  ssize_t got = 0;
  do {
    got = ::getrandom(&seed, sizeof seed, 0);
  } while (got < 0 && errno == EINTR);
  AK_CHECK(got == sizeof seed);
  return seed;
}

}  // namespace ak
