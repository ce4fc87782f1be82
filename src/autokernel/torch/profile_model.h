#pragma once
// Runs a model under torch.profiler in the user's own Python, with the bridge that the binary carries
// (python/autokernel).

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::torch {

enum class Mode { kInference, kTraining };
enum class Compile { kNo, kYes };
enum class Graph { kCapture, kNone };

/// What names a model; python/autokernel/model_spec.py reads it.
struct ModelSpec {
  std::string file;                ///< MODEL.py, MODEL.py:NAME; empty: of a package
  std::string package, factory;    ///< "transformers", "AutoModelForCausalLM.from_config"
  std::string config, pretrained;  ///< of the factory; empty: none
  std::vector<std::string> arguments, config_arguments;  ///< NAME=VALUE, of the constructor or function
  std::vector<std::string> inputs;                       ///< "1x1024:int64", "mask=1x1024:bool"
  std::vector<std::string> keywords;                     ///< NAME=VALUE, what forward takes and is no tensor

  std::string name() const { return file.empty() ? package + "." + factory : file; }
};

struct ProfileSpec {
  std::string python = "python3";  ///< an interpreter that has PyTorch
  ModelSpec model;
  std::filesystem::path trace;   ///< is written there; .json or .json.gz
  std::filesystem::path record;  ///< is written there: profile.json, in the folder of the trace
  std::string device = "auto";   ///< of PyTorch: auto, cpu, cuda, cuda:1
  std::string dtype = "auto";    ///< auto, f32, f16, bf16
  int warmup = 3;
  int iterations = 1;
  Mode mode = Mode::kInference;
  Compile compile = Compile::kNo;
  Graph graph = Graph::kCapture;
  std::chrono::minutes deadline{30};
};

struct Profiled {
  std::string torch_version, device, dtype;
  double wall_ms_per_iteration = 0;  ///< with the profiler on
  std::string graph_by;              ///< "torch.fx", "torch.export"; empty: no graph
  std::string graph_why_not;         ///< empty: there is one
  std::vector<std::string> notes;    ///< of the inputs that were drawn
};

/// Errors are those of the model (with its own frames of the traceback), of the interpreter, or of the
/// deadline.
Result<Profiled> profile_model(const ProfileSpec& spec);

}  // namespace ak::torch
