// fuzz-deps: base core op
// op.toml, sizes and target.toml from outside. The first byte says which: 'S' a size, 'T' a target, else a
// family.
#include <string_view>

#include "autokernel/op/op_family.h"
#include "autokernel/op/target_file.h"

namespace {

const ak::op::Registry& families() {
  static const ak::op::Registry kRegistry = *ak::op::Registry::create(ak::op::embedded_families(), {});
  return kRegistry;
}

void use(const ak::op::Family& family, const ak::op::Size& size) {
  const ak::Result<ak::Problem> problem = ak::op::make_problem(family, size, family.dtypes.front());
  if (!problem) return;
  // Costs may overflow or run over too many combinations: errors, no crashes.
  (void)ak::op::useful_flops(family, *problem).has_value();
  (void)ak::op::compulsory_bytes(family, *problem).has_value();
}

void try_family(std::string_view text) {
  const ak::EmbeddedFile files[] = {{"op.toml", text}, {"reference.cu", "//"}};
  const ak::Result<ak::op::Family> family = ak::op::load_family("sample", files);
  if (!family) return;
  for (const auto& [set, sizes] : family->sizes) {
    for (std::size_t i = 0; i < sizes.size() && i < 4; ++i) use(*family, sizes[i]);
  }
}

void try_size(std::string_view text) {
  for (const ak::op::Family& family : families().families()) {
    const ak::Result<ak::op::Size> size = ak::op::parse_size(family, text);
    if (size) use(family, *size);
  }
}

void try_target(std::string_view text) {
  const ak::Result<ak::Target> target = ak::op::parse_target(text, "fuzz/target.toml", families());
  if (!target) return;
  const ak::Result<ak::Target> again =
      ak::op::parse_target(ak::op::format_target(*target), "fuzz/target.toml", families());
  AK_CHECK(again.has_value());
  AK_CHECK(again->problems.size() == target->problems.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('S')) {
    try_size(text.substr(1));
  } else if (text.starts_with('T')) {
    try_target(text.substr(1));
  } else {
    try_family(text);
  }
  return 0;
}
