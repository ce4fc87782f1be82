// fuzz-deps: device_cpu
// The rewrite of hostile kernel files: never crashes, keeps the number of lines, and is the same twice.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "autokernel/device/cpu/rewrite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto form : {ak::cpu::SharedForm::kDirect, ak::cpu::SharedForm::kReference}) {
    const ak::cpu::RewriteOutcome first = ak::cpu::rewrite(text, form);
    if (first.failure) {
      if (first.failure->line < 1 || first.failure->message.empty() || !first.code.text.empty()) std::abort();
      continue;
    }
    const std::string& out = first.code.text;
    if (std::count(out.begin(), out.end(), '\n') != std::count(text.begin(), text.end(), '\n')) std::abort();
    if (ak::cpu::rewrite(text, form).code.text != out) std::abort();
  }
  return 0;
}
