// fuzz-deps: device_cpu
// What a hostile shared object may do to whoever examines it: nothing but an error.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "autokernel/device/cpu/elf_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const ak::Build build : {ak::Build::kTimed, ak::Build::kChecked}) {
    const auto facts = ak::cpu::elf_facts(bytes, {"k", "other"}, build);
    if (facts) [[maybe_unused]]
      const auto written = ak::cpu::write_shared_layout(bytes, *facts);
  }
  return 0;
}
