#pragma once
// Runs kernel files of families on the CPU device, on tensors given as doubles.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autokernel/device/cpu/cpu_compiler.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/op/op_family.h"

namespace ak::op::testing {

using Values = std::vector<double>;
using Arrays = std::map<std::string, Values>;

/// The nearest value of the dtype, ties to even.
double rounded(double value, DType dtype);

class ReferenceBench {
 public:
  static Result<std::unique_ptr<ReferenceBench>> create();

  /// Runs all launches of the file with its defaults on the inputs (rounded to their dtype first). Returns
  /// every array that is no input: outputs and, for references, `<output>_r`, `_S`, `_I<k>`. Arrays start as
  /// NaN.
  Result<Arrays> run(const Family& family, std::string_view text, const std::string& name,
                     const Problem& problem, const Arrays& inputs);

  const DeviceInfo& info() const { return device_->info(); }

 private:
  ReferenceBench() = default;
  struct Tensor {
    device::BufferId buffer;
    DType dtype;
    std::uint64_t elements;
    bool input;
  };
  using Tensors = std::map<std::string, Tensor>;
  Result<Tensors> allocate(const Family& family, const Problem& problem, const Arrays& inputs);
  Status write(const Tensor& tensor, const Values& values);
  Result<Values> read(const Tensor& tensor);

  std::unique_ptr<cpu::CpuCompiler> compiler_;
  std::unique_ptr<cpu::CpuDevice> device_;
};

}  // namespace ak::op::testing
