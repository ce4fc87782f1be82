// fuzz-deps: base core kernel
// Kernel files: whatever the text, an error with a place or a file whose parts agree with each other; never a
// crash.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "autokernel/kernel/launch.h"
#include "autokernel/kernel/space.h"

namespace {

using namespace ak;

constexpr std::uint64_t kSmallSpace = 20'000;

Problem sample_problem(DType dtype) {
  return {.op = "fuzz",
          .dims = {{"M", 64}, {"N", 100}, {"K", 0}},
          .flags = {{"CAUSAL", 1}},
          .scalars = {{"eps", 1e-6}},
          .dtype = dtype,
          .strides = {},
          .has = {"weight"}};
}

bool is_small(const kernel::KernelFile& file) {
  std::uint64_t raw = 1;
  for (const kernel::Tunable& tunable : file.tunables) {
    raw *= tunable.values.size();
    if (raw > kSmallSpace) return false;
  }
  return true;
}

void check_space(const kernel::KernelFile& file, const Problem& problem, const DeviceInfo& device) {
  if (!is_small(file)) return;
  const auto space = kernel::Space::create(file, device, {&problem, 1});
  if (!space) {
    AK_CHECK(!space.error().message.empty());
    return;
  }
  AK_CHECK(space->size() > 0 && space->size() <= space->raw_size());
  for (std::size_t i = 0; i < space->size(); i += 1 + space->size() / 4) {
    const Config config = space->config(i);
    AK_CHECK(space->index_of(config) == i);
    const auto invalid = kernel::check_config(file, config, problem, device);
    AK_CHECK(invalid && !*invalid);
    const auto edited = kernel::with_defaults(file, config);
    AK_CHECK(edited && kernel::parse(*edited, "fuzz.cu")->defaults == config);
  }
  AK_CHECK(space->heuristic_order(file, device, problem).size() == space->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = kernel::parse(text, "fuzz.cu");
  if (!file) {
    AK_CHECK(file.error().code == ErrorCode::kUsage);
    AK_CHECK(file.error().message.starts_with("fuzz.cu:"));
    return 0;
  }
  AK_CHECK(*kernel::with_defaults(*file, file->defaults) ==
           file->text);  // text may begin with a byte order mark
  AK_CHECK(kernel::config_with(*file, {})->values == file->defaults.values);
  AK_CHECK(file->render(file->defaults).has_value());
  DeviceInfo device;
  device.kind = "cpu";
  device.arch = "cpu";
  device.memory_bytes = 1u << 30;
  const Problem problem = sample_problem(file->dtypes[0]);
  const kernel::Signature signature{.tensors = {"x", "weight", "y"},
                                    .optional_tensors = {"weight"},
                                    .dims = {"M", "N", "K"},
                                    .flags = {"CAUSAL"},
                                    .float_scalars = {"eps"},
                                    .int_scalars = {}};
  check_space(*file, problem, device);
  if (!kernel::check_against(*file, signature)) return 0;
  const auto plan = kernel::make_plan(*file, file->defaults, problem, signature, device);
  AK_CHECK(plan ? plan->steps.size() == file->launches.size() : !plan.error().message.empty());
  return 0;
}
