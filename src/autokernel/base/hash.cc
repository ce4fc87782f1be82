#include "autokernel/base/hash.h"

#include <xxhash.h>

#include <cstdint>
#include <memory>

#include "autokernel/base/result.h"

namespace ak {
namespace {

std::string hex(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;  // big-endian, so the digits are the same on every machine
  XXH128_canonicalFromHash(&bytes, hash);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * sizeof bytes.digest);
  for (unsigned char byte : bytes.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

std::string content_hash(std::string_view text) { return hex(XXH3_128bits(text.data(), text.size())); }

std::string content_hash(std::initializer_list<std::string_view> parts) {
  std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  AK_CHECK(state != nullptr);
  XXH3_128bits_reset(state.get());
  for (std::string_view part : parts) {
    unsigned char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(std::uint64_t{part.size()} >> (8 * i));
    XXH3_128bits_update(state.get(), length, sizeof length);
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  return hex(XXH3_128bits_digest(state.get()));
}

}  // namespace ak
