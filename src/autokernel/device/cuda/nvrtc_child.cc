#include "autokernel/device/cuda/nvrtc_child.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "autokernel/base/sandbox.h"
#include "autokernel/base/unique_fd.h"
#include "autokernel/device/cuda/nvrtc_job.h"

namespace ak::cuda {
namespace {

/// Empty at the end of the input. There is nothing behind a job before it has been answered.
std::string read_message(int fd) {
  std::string text;
  char buffer[1 << 16];
  while (!is_whole_message(text)) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
  return text;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

Status confine(const NvrtcJob& job) {
  if (job.confinement == Confinement::kNone) return {};
  Sandbox sandbox;
  sandbox.read_only.assign(job.location.includes.begin(), job.location.includes.end());
  AK_TRY(prepared, PreparedSandbox::prepare(sandbox));
  if (const int error = prepared.enter(); error != 0) {
    return environment_error("cannot enter the compiler's sandbox: {}", std::strerror(error));
  }
  return {};
}

NvrtcAnswer failed(NvrtcAnswer::Outcome outcome, std::string message) {
  NvrtcAnswer answer;
  answer.outcome = outcome;
  answer.message = std::move(message);
  return answer;
}

NvrtcAnswer::Outcome outcome_of(NvrtcResult result) {
  switch (result) {
    case NvrtcResult::kSuccess:
      return NvrtcAnswer::Outcome::kCompiled;
    case NvrtcResult::kOutOfMemory:
      return NvrtcAnswer::Outcome::kOutOfMemory;
    case NvrtcResult::kInvalidOption:
      return NvrtcAnswer::Outcome::kUnsupported;
    default:  // kCompilation, kNameExpressionNotValid, and NVRTC's own internal errors, which the source
              // provoked
      return NvrtcAnswer::Outcome::kRejected;
  }
}

Result<NvrtcAnswer> compile(const NvrtcApi& api, const NvrtcJob& job) {
  AK_TRY(program, NvrtcProgram::create(api, job.text, job.name, job.headers));
  for (const std::string& entry : job.entries) {
    const NvrtcResult added = program.add_name_expression(entry);
    if (added != NvrtcResult::kSuccess) {
      return failed(NvrtcAnswer::Outcome::kRejected, fmt::format("`{}` cannot name a kernel", entry));
    }
  }
  const NvrtcResult result = program.compile(job.options);
  NvrtcAnswer answer = failed(outcome_of(result), api.get_error_string(result));
  AK_TRY(log, program.log());
  answer.log = std::move(log);
  if (answer.outcome == NvrtcAnswer::Outcome::kUnsupported) answer.log += "\nIt knows " + api.architectures();
  if (result != NvrtcResult::kSuccess) return answer;
  AK_TRY(ptx, program.ptx());
  AK_TRY(cubin, program.cubin());
  answer.ptx = std::move(ptx);
  answer.cubin = std::move(cubin);
  for (const std::string& entry : job.entries) {
    AK_TRY(symbol, program.symbol_of(entry));
    answer.symbols.push_back(std::move(symbol));
  }
  return answer;
}

/// NVRTC, loaded and locked in by the first job.
class Service {
 public:
  Result<NvrtcAnswer> answer(std::string_view text) {
    AK_TRY(job, decode_job(text));
    if (!api_) {
      AK_TRY(api, NvrtcApi::load(job.location));
      AK_TRY_VOID(confine(job));
      api_.emplace(std::move(api));
      location_ = job.location;
      confinement_ = job.confinement;
    }
    if (job.location != location_ || job.confinement != confinement_) {
      return internal_error("this compiler process serves {} only", location_.library.string());
    }
    return compile(*api_, job);
  }

 private:
  std::optional<NvrtcApi> api_;
  NvrtcLocation location_;
  Confinement confinement_ = Confinement::kSandbox;
};

}  // namespace

int nvrtc_child_main() {
  // The answer's own descriptor: what a library prints goes nowhere.
  const UniqueFd answers(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!answers.valid() || !nowhere.valid() || ::dup2(nowhere.get(), STDOUT_FILENO) < 0) return 1;
  // What one compile frees, the next one takes: giving it back in between costs 5 ms of page faults in 78.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  Service service;
  for (std::string job = read_message(STDIN_FILENO); !job.empty(); job = read_message(STDIN_FILENO)) {
    const auto answer = service.answer(job);
    const std::string text =
        encode(answer ? *answer : failed(NvrtcAnswer::Outcome::kEnvironment, answer.error().message));
    if (!write_all(answers.get(), text)) return 1;
  }
  return 0;
}

}  // namespace ak::cuda
