#pragma once
// A kernel candidate: a kernel file and a value for each of its parameters, for one problem.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "autokernel/base/result.h"

namespace ak {

using ParameterValue = std::variant<std::int64_t, bool, std::string>;
using Parameters = std::map<std::string, ParameterValue>;

/// Made by KernelGenerator; a value that is cheap to copy.
class KernelCandidate {
 public:
  const Parameters& parameters() const;
  std::string description() const;  ///< "block_size=16"
  std::string problem() const;      ///< "conv2d H=64 W=64 ... f32"
  /// The device code, with the placeholders of a template filled in. Values that are macros are not in it.
  Result<std::string> code() const;
  /// The kernel file with these parameters as its [defaults]: what `autokernel bench FILE` takes.
  Result<std::string> kernel_file() const;

  struct Data;  ///< private to the library
  explicit KernelCandidate(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;  // immutable: copies of a candidate share it
};

}  // namespace ak
