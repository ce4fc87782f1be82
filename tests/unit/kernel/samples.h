#pragma once
// Kernel files, problems and devices for tests.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autokernel/core/device_info.h"
#include "autokernel/core/problem.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/launch.h"

namespace ak::kernel::testing {

/// A file with this front matter and a kernel `f`.
inline std::string file_text(std::string_view toml) {
  return "/* autokernel\n" + std::string(toml) +
         "*/\n__global__ void f(const scalar_t* x, scalar_t* y, int N) {}\n";
}

/// dtypes and one launch, which most tests do not care about; `toml` comes between them.
inline std::string plain_text(std::string_view toml) {
  return file_text("dtypes = [\"f32\"]\n" + std::string(toml) +
                   "[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = [1]\nargs = [\"x\", \"y\", \"N\"]\n");
}

inline KernelFile parsed(const std::string& text) {
  Result<KernelFile> file = parse(text, "test.cu");
  EXPECT_TRUE(file) << file.error().message;
  return file ? std::move(*file) : KernelFile{};
}

inline std::string error_of(const std::string& text) {
  const Result<KernelFile> file = parse(text, "test.cu");
  EXPECT_FALSE(file) << text;
  return file ? "" : file.error().message;
}

inline Problem problem(NamedInts dims = {{"M", 64}, {"N", 100}}, std::vector<std::string> has = {}) {
  return {.op = "test",
          .dims = std::move(dims),
          .flags = {{"CAUSAL", 1}},
          .scalars = {{"eps", 1e-6}, {"IGNORE", -100}},
          .dtype = DType::kF32,
          .strides = {},
          .has = std::move(has)};
}

inline DeviceInfo gpu() {
  DeviceInfo info;
  info.kind = "cuda";
  info.name = "test GPU";
  info.arch = "sm_90a";
  info.multiprocessors = 132;
  info.natural_block = 256;
  info.clusters = info.tensor_maps = true;
  info.dynamic_shared_bytes = 227 * 1024;
  info.shared_bytes_per_multiprocessor = 228 * 1024;
  return info;
}

inline Signature signature() {
  return {.tensors = {"x", "weight", "residual", "y"},
          .optional_tensors = {"weight", "residual"},
          .dims = {"M", "N"},
          .flags = {"CAUSAL"},
          .float_scalars = {"eps"},
          .int_scalars = {"IGNORE"}};
}

inline Config config_of(std::map<std::string, TunableValue> values) { return Config{std::move(values)}; }

}  // namespace ak::kernel::testing
