#include "autokernel/device/cuda/nvrtc_compiler.h"

#include <algorithm>

#include "autokernel/base/hash.h"
#include "autokernel/core/device_info.h"
#include "autokernel/device/cuda/compiler_log.h"
#include "autokernel/device/cuda/cubin_info.h"
#include "autokernel/device/cuda/ptx_facts.h"
#include "autokernel/device/cuda/standard_headers.h"
#include "autokernel/device/source_text.h"

namespace ak::cuda {
namespace {

using device::CompileOutcome;

constexpr std::size_t kMaxAnswerBytes = 256u << 20;
#ifdef AK_SANITIZE  // a sanitizer reserves terabytes of address space for its shadow
constexpr bool kLimitAddressSpace = false;
#else
constexpr bool kLimitAddressSpace = true;
#endif

CompileOutcome failure(FailureKind kind, std::string check, std::string message) {
  CompileOutcome outcome;
  outcome.failure = Failure{Stage::kCompile, kind, std::move(check), std::move(message)};
  return outcome;
}

/// Why this compiler does not take the source at all.
std::optional<std::string> refusal(const Source& source) {
  if (source.language != "cuda")
    return fmt::format("the CUDA compiler does not know the language {}", source.language);
  if (!cuda_arch_number(source.arch)) {
    return fmt::format("`{}` is no CUDA architecture: expected one such as sm_90a", source.arch);
  }
  if (source.build == Build::kChecked) return "CUDA has no checked build: use the CPU device for it";
  return std::nullopt;
}

CompileOutcome rejected(const NvrtcAnswer& answer, std::span<const std::filesystem::path> includes) {
  std::string log = clean_log(answer.log, includes);
  if (const auto entry = missing_entry(answer.log); entry && log.empty()) {
    log = fmt::format("the code has no __global__ function `{}`, which a launch names", *entry);
  }
  if (log.empty()) log = answer.message;
  if (reaches_outside(answer.log)) {
    return failure(FailureKind::kCompile, "compile.sandbox",
                   fmt::format("an #include reaches outside of the compiler's sandbox:\n{}", log));
  }
  return failure(FailureKind::kCompile, "compile", std::move(log));
}

/// Headers that cost more than a small kernel itself, 0.7 to 1.2 s with CUDA 13.0; each compile of each
/// config pays for them.
std::string slow_headers(std::string_view text) {
  constexpr std::string_view kSlow[] = {
      "cooperative_groups", "cub/", "thrust/", "cuda/", "cute/", "cutlass/"};
  std::string found;
  for (const std::string_view header : kSlow) {
    if (text.find(fmt::format("<{}", header)) == std::string_view::npos) continue;
    found += fmt::format("{}<{}...>", found.empty() ? "" : ", ", header);
  }
  return found;
}

ProcessSpec child_spec(const NvrtcOptions& options) {
  ProcessSpec spec;
  spec.argv = options.child_command;
  spec.directory = "/";
  spec.environment = std::vector<std::string>{"PATH=/usr/bin:/bin", "LC_ALL=C"};
  spec.deadline = options.deadline;
  spec.memory_limit_bytes = kLimitAddressSpace ? options.memory_bytes : 0;
  spec.output_cap_bytes = kMaxAnswerBytes;
  return spec;
}

std::string describe_end(const ProcessResult& done) {
  if (done.signal != 0) return fmt::format("was killed by signal {}", done.signal);
  return fmt::format("ended with exit code {}", done.exit_code);
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(NvrtcOptions options)
    : options_(std::move(options)), process_(child_spec(options_)), headers_(standard_headers()) {
  for (const EmbeddedFile& file : options_.headers) {
    headers_.push_back({std::string(file.path), std::string(file.text)});
  }
  std::string headers;
  for (const NvrtcHeader& header : headers_) headers += content_hash({header.name, header.text});
  identity_ =
      fmt::format("{} {} {} {}", description(), options_.location.library.string(), content_hash(headers),
                  options_.confinement == Confinement::kSandbox ? "sandbox" : "open");
}

Result<NvrtcCompiler> NvrtcCompiler::create(NvrtcOptions options) {
  const SandboxSupport support = sandbox_support();
  if (options.confinement == Confinement::kSandbox && !support.complete()) {
    return environment_error(
        "cannot confine the compiler: this kernel lacks {}; candidates are refused without it, unless "
        "--unsafe-no-sandbox says otherwise",
        support.missing());
  }
  return NvrtcCompiler(std::move(options));
}

std::string NvrtcCompiler::description() const { return "NVRTC " + options_.location.version(); }

Result<CompileOutcome> NvrtcCompiler::compile(const Source& source) {
  if (auto reason = refusal(source)) return failure(FailureKind::kUnsupported, "compile", std::move(*reason));
  if (!options_.cache) return compile_fresh(source);
  return options_.cache->load_or_compile(device::ObjectCache::key(source, identity_),
                                         [&] { return compile_fresh(source); });
}

Result<CompileOutcome> NvrtcCompiler::compile_fresh(const Source& source) {
  AK_TRY(text, device::source_text(source));
  return run(job_for(source, std::move(text)), source);
}

NvrtcJob NvrtcCompiler::job_for(const Source& source, std::string text) const {
  NvrtcJob job;
  job.location = options_.location;
  job.name = source.name.empty() ? "kernel.cu" : source.name;
  job.text = std::move(text);
  job.headers = headers_;
  job.entries = source.entries;
  job.confinement = options_.confinement;
  job.options = {"--gpu-architecture=" + source.arch, "--std=c++17",
                 fmt::format("--pre-include={}", kPreambleName)};
  for (const auto& folder : options_.location.includes)
    job.options.push_back("--include-path=" + folder.string());
  if (source.max_registers) job.options.push_back(fmt::format("--maxrregcount={}", *source.max_registers));
  if (source.build == Build::kLines) job.options.emplace_back("--generate-line-info");
  return job;
}

Result<CompileOutcome> NvrtcCompiler::run(const NvrtcJob& job, const Source& source) {
  AK_TRY(done, process_.ask(encode(job)));
  if (done.timed_out) {
    return failure(FailureKind::kTimeout, "compile.sandbox",
                   fmt::format("the compiler did not end within {} s", options_.deadline.count() / 1000));
  }
  auto answer = decode_answer(done.out);
  if (!answer) {
    if (done.signal != 0) {
      return failure(
          FailureKind::kCompile, "compile.sandbox",
          fmt::format("the compiler {} (it may use {} MiB): {}", describe_end(done),
                      options_.memory_bytes >> 20, clean_log(done.err, job.location.includes, 500)));
    }
    return environment_error("`{}` gave no answer: it {}, {}: {}", options_.child_command.front(),
                             describe_end(done), answer.error().message, clean_log(done.err, {}, 500));
  }
  AK_TRY(outcome, judge(std::move(*answer), source));
  if (outcome.binary) {
    outcome.binary->compile_s = done.wall_s;
    if (const std::string slow = slow_headers(source.text); !slow.empty()) {
      outcome.binary->log += fmt::format(
          "{}note: {} slow every compile down ({:.2f} s); `autokernel/device/` has grid, asynchronous and "
          "matrix operations",
          outcome.binary->log.empty() ? "" : "\n", slow, done.wall_s);
    }
  }
  return outcome;
}

Result<CompileOutcome> NvrtcCompiler::judge(NvrtcAnswer answer, const Source& source) const {
  switch (answer.outcome) {
    case NvrtcAnswer::Outcome::kCompiled: {
      AK_TRY(binary, binary_from(std::move(answer), source));
      return CompileOutcome{std::move(binary), std::nullopt};
    }
    case NvrtcAnswer::Outcome::kRejected:
      return rejected(answer, options_.location.includes);
    case NvrtcAnswer::Outcome::kUnsupported:
      return failure(
          FailureKind::kUnsupported, "compile",
          fmt::format("{} cannot compile for {}: {}\nGive one of these (also with an `a` behind it from "
                      "sm_90 on), or set CUDA_HOME to a newer CUDA toolkit",
                      description(), source.arch, clean_log(answer.log, options_.location.includes)));
    case NvrtcAnswer::Outcome::kOutOfMemory:
      return failure(FailureKind::kCompile, "compile.sandbox",
                     fmt::format("the compiler needs more than its {} MiB", options_.memory_bytes >> 20));
    case NvrtcAnswer::Outcome::kEnvironment:
      break;
  }
  return environment_error("cannot compile {}: {}", source.name, answer.message);
}

Result<Binary> NvrtcCompiler::binary_from(NvrtcAnswer answer, const Source& source) const {
  if (answer.symbols.size() != source.entries.size()) return internal_error("NVRTC's answer lacks symbols");
  AK_TRY(cubin, read_cubin(answer.cubin));
  Binary binary;
  binary.format = "cubin";
  binary.arch = source.arch;
  for (std::size_t i = 0; i < answer.symbols.size(); ++i) {
    const CubinKernel* kernel = cubin.find(answer.symbols[i]);
    if (kernel == nullptr) return internal_error("the cubin has no kernel {}", answer.symbols[i]);
    Entry entry;
    entry.name = source.entries[i];
    if (kernel->symbol != entry.name) entry.symbol = kernel->symbol;
    entry.param_bytes = kernel->param_bytes;
    entry.registers = kernel->registers;
    entry.local_bytes = kernel->local_bytes;
    entry.static_shared_bytes = kernel->static_shared_bytes;
    binary.entries.push_back(std::move(entry));
  }
  if (auto facts = read_ptx(answer.ptx, answer.symbols, cubin.mutable_global_bytes)) {
    binary.facts = std::move(*facts);
  } else {  // what cannot be read cannot be audited
    binary.facts.forbidden.push_back(facts.error().message);
  }
  binary.bytes = std::move(answer.cubin);
  binary.ptx = std::move(answer.ptx);
  binary.log = clean_log(answer.log, options_.location.includes);
  binary.sandboxed = options_.confinement == Confinement::kSandbox;
  return binary;
}

}  // namespace ak::cuda
