// fuzz-deps: device/cuda
// A cubin comes from a compiler process that a candidate's text has been through.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "autokernel/device/cuda/cubin_info.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto info = ak::cuda::read_cubin({reinterpret_cast<const char*>(data), size});
  if (info) {
    for (const ak::cuda::CubinKernel& kernel : info->kernels) AK_CHECK(info->find(kernel.symbol) != nullptr);
  } else {
    AK_CHECK(!info.error().message.empty());
  }
  return 0;
}
