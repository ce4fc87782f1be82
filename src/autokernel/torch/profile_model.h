#pragma once
// Runs a model under torch.profiler in the user's own Python, with the bridge that the binary carries
// (python/autokernel).

#include <chrono>
#include <filesystem>
#include <string>

#include "autokernel/base/result.h"

namespace ak::torch {

enum class Mode { kInference, kTraining };
enum class Compile { kNo, kYes };

struct ProfileSpec {
  std::string python = "python3";  ///< an interpreter that has PyTorch
  std::filesystem::path model;     ///< a Python file with build(device, dtype) -> (model, inputs)
  std::filesystem::path trace;     ///< is written there; .json or .json.gz
  std::string device = "auto";     ///< of PyTorch: auto, cpu, cuda, cuda:1
  std::string dtype = "auto";      ///< auto, f32, f16, bf16
  int warmup = 3;
  int iterations = 1;
  Mode mode = Mode::kInference;
  Compile compile = Compile::kNo;
  std::chrono::minutes deadline{30};
};

struct Profiled {
  std::string torch_version, device, dtype;
  double wall_ms_per_iteration = 0;  ///< with the profiler on
};

/// Errors are those of the model (its last line is in the message), of the interpreter, or of the deadline.
Result<Profiled> profile_model(const ProfileSpec& spec);

}  // namespace ak::torch
