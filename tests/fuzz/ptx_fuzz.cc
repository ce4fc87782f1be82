// fuzz-deps: device/cuda
// PTX holds a candidate's inline assembly as it was written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "autokernel/device/cuda/ptx_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string declared[] = {"k"};
  const auto facts = ak::cuda::read_ptx({reinterpret_cast<const char*>(data), size}, declared, 0);
  if (facts) {
    for (const std::string& line : facts->forbidden) AK_CHECK(!line.empty());
  } else {
    AK_CHECK(!facts.error().message.empty());
  }
  return 0;
}
