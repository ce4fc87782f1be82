#pragma once
// Step 1 of 4: from a kernel file or a template to its candidates. Needs no device and no compiler.
//
//   auto generator = ak::KernelGenerator::create({.architecture = "cpu",
//                                                 .kernel_file = "conv2d/kernels/naive.cu",
//                                                 .problem = "H=64,W=64,R=3,S=3",
//                                                 .parameters = {{"block_size", {16, 32, 64}}}});
//   auto generated = generator->generate();

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autokernel/kernel_candidate.h"

namespace ak {

/// How a bare template is launched: expressions over its parameters and the problem's dims.
struct TemplateLaunch {
  std::string entry;                     ///< name of the __global__ function
  std::vector<std::string> grid, block;  ///< 1 to 3 expressions each, e.g. "ceil_div(M, block_size)"
  std::vector<std::string> args;         ///< tensors, dims, flags, scalars of the op, or expressions
};

struct GeneratorOptions {
  std::string architecture = "cpu";  ///< "cpu", or a CUDA architecture such as "sm_90a"
  /// A path, or a shipped kernel's name such as "conv2d/kernels/naive.cu" (`autokernel ops` lists them) ...
  std::string kernel_file{};
  /// ... or the text of a kernel file, or of a bare template (no front matter) with {name} placeholders.
  std::string text{};
  TemplateLaunch launch{};  ///< of a bare template
  std::string op{};         ///< op family; empty: the one that the file names
  /// Dims, flags and scalars, e.g. "M=64,N=128,eps=1e-5"; empty: the family's first `sweep` size.
  std::string problem{};
  std::string dtype = "f32";  ///< f32, f16 or bf16
  /// The values to consider, by parameter. Of a kernel file: some of its tunables' values; a parameter that
  /// is left out keeps all of its values. Of a bare template: all parameters it has.
  std::map<std::string, std::vector<ParameterValue>> parameters{};
  std::vector<std::string> op_folders{};  ///< more op families, as `autokernel --ops`
};

struct InvalidCandidate {
  Parameters parameters;
  std::string reason;  ///< "block of 64 x 64 = 4096 threads exceeds the device's 1024"
};

struct Generated {
  std::vector<KernelCandidate> candidates;  ///< all valid ones, in the order to try them
  std::vector<InvalidCandidate> invalid;    ///< the first kMaxInvalid that break a constraint or a limit
  std::uint64_t invalid_count = 0;          ///< of all
};
inline constexpr std::size_t kMaxInvalid = 1000;

class KernelGenerator {
 public:
  /// Reads the kernel file and makes the problem; errors carry file, line and column.
  static Result<KernelGenerator> create(GeneratorOptions options);
  KernelGenerator(KernelGenerator&&) noexcept;
  KernelGenerator& operator=(KernelGenerator&&) noexcept;
  ~KernelGenerator();

  /// Without a valid candidate `candidates` is empty and `invalid` says why.
  Result<Generated> generate() const;

 private:
  struct Impl;
  explicit KernelGenerator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ak
