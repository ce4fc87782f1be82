#pragma once
// What the compiler process is asked and what it answers, one message each: its length, JSON, then texts of
// known length, since a kernel file need not be UTF-8 and a cubin is not.

#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/device/cuda/nvrtc_api.h"

namespace ak::cuda {

enum class Confinement { kSandbox, kNone };

struct NvrtcJob {
  NvrtcLocation location;
  std::string name;  ///< of the source, for diagnostics
  std::string text;
  std::vector<std::string> options;
  std::vector<std::string> entries;  ///< expressions that name kernels
  std::vector<NvrtcHeader> headers;
  Confinement confinement = Confinement::kSandbox;
};

struct NvrtcAnswer {
  enum class Outcome {
    kCompiled,
    kRejected,     ///< the source does not compile: see the log
    kUnsupported,  ///< an option, in practice the architecture, is unknown to this NVRTC
    kOutOfMemory,
    kEnvironment,  ///< NVRTC or the sandbox failed: see the message
  };
  Outcome outcome = Outcome::kEnvironment;
  std::string message;
  std::string log;
  std::string ptx;
  std::string cubin;
  std::vector<std::string> symbols;  ///< of the job's entries, in their order
};

/// Whether a whole message has arrived; a text that cannot become one is whole too: decoding says what is
/// wrong.
bool is_whole_message(std::string_view text);

std::string encode(const NvrtcJob& job);
Result<NvrtcJob> decode_job(std::string_view text);
std::string encode(const NvrtcAnswer& answer);
Result<NvrtcAnswer> decode_answer(std::string_view text);

}  // namespace ak::cuda
