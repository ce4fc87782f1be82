#include "autokernel/device/cpu/cpu_compiler.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/device/cpu/diagnostics.h"
#include "autokernel/device/cpu/elf_facts.h"
#include "autokernel/device/cpu/rewrite.h"
#include "autokernel/device/cpu/translation_unit.h"

namespace ak::cpu {
namespace {

constexpr std::uint64_t kMemoryBytes = 2ull << 30;
constexpr std::uint64_t kCpuSeconds = 10;
constexpr std::chrono::milliseconds kDeadline{30'000};
constexpr std::uint64_t kObjectBytes = 64u << 20;
constexpr std::size_t kMostRemembered = 4096;
constexpr const char* kObjectName = "module.so";

device::CompileOutcome failed(FailureKind kind, std::string check, std::string message) {
  device::CompileOutcome outcome;
  outcome.failure = Failure{Stage::kCompile, kind, std::move(check), std::move(message)};
  return outcome;
}

/// An entry that certainly is no kernel of this file.
std::optional<std::string> unknown_entry(const Source& source, const Rewritten& code) {
  if (code.kernels_from_macros) return std::nullopt;
  for (const std::string& entry : source.entries) {
    if (std::find(code.kernels.begin(), code.kernels.end(), function_name(entry)) != code.kernels.end())
      continue;
    return fmt::format(
        "{}: entry `{}` is not a __global__ function of this file{}", display_name(source), entry,
        code.kernels.empty() ? "" : fmt::format(" (it has {})", fmt::join(code.kernels, ", ")));
  }
  return std::nullopt;
}

}  // namespace

struct CpuCompiler::Unit {
  std::string text;
  Build build = Build::kTimed;
  ThreadForm form = ThreadForm::kSuspending;
};

CpuCompiler::CpuCompiler(CpuCompilerOptions options, HostCompiler compiler, HeaderStore headers,
                         std::optional<device::ObjectCache> cache)
    : options_(std::move(options)),
      compiler_(std::move(compiler)),
      headers_(std::move(headers)),
      cache_(std::move(cache)),
      prelude_(headers_.root / "precompiled", compiler_.identity) {}

Result<std::unique_ptr<CpuCompiler>> CpuCompiler::create(CpuCompilerOptions options) {
  if (options.cache.empty()) options.cache = cache_directory();
  AK_TRY(compiler, find_host_compiler(options.program));
  AK_TRY(headers, store_headers(options.cache, options.device_headers));
  std::optional<device::ObjectCache> cache;
  if (auto opened = device::ObjectCache::open(options.cache / "objects")) cache = std::move(*opened);
  return std::unique_ptr<CpuCompiler>(
      new CpuCompiler(std::move(options), std::move(compiler), std::move(headers), std::move(cache)));
}

std::string CpuCompiler::key_of(const Source& source) const {
  std::string how = compiler_.identity + headers_.hash + display_name(source);
  for (ThreadForm form :
       {ThreadForm::kPlainLoop, ThreadForm::kIndexLoop, ThreadForm::kSuspending, ThreadForm::kSpinning}) {
    for (const std::string& flag : compile_flags(compiler_, source.build, form)) how += "\n" + flag;
  }
  for (const std::string& flag : options_.extra_flags) how += "\n" + flag;
  how += options_.sandbox == SandboxMode::kRequired ? "\nsandboxed" : "\nunsafe";
  return device::ObjectCache::key(source, content_hash(how));
}

Result<device::CompileOutcome> CpuCompiler::compile(const Source& source) {
  if (options_.sandbox == SandboxMode::kRequired) {
    if (const SandboxSupport support = sandbox_support(); !support.complete()) {
      return environment_error(
          "candidates are compiled in a sandbox, which needs {}: pass --unsafe-no-sandbox to do without",
          support.missing());
    }
  }
  const std::string key = key_of(source);
  const auto compile_once = [&] { return compile_unless_failed(source, key); };
  return cache_ ? cache_->load_or_compile(key, compile_once) : compile_once();
}

Result<device::CompileOutcome> CpuCompiler::compile_unless_failed(const Source& source,
                                                                  const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = failed_.find(key); known != failed_.end()) {
      device::CompileOutcome outcome;
      outcome.failure = known->second;
      return outcome;
    }
  }
  AK_TRY(outcome, compile_fresh(source));
  if (outcome.failure) {
    const std::lock_guard lock(mutex_);
    if (failed_.size() < kMostRemembered) failed_[key] = *outcome.failure;
  }
  return outcome;
}

Result<device::CompileOutcome> CpuCompiler::compile_fresh(const Source& source) {
  if (source.language != "cuda") {
    return failed(FailureKind::kUnsupported, "compile",
                  fmt::format("the CPU device compiles CUDA C++, not the language `{}`", source.language));
  }
  if (!source.arch.empty() && source.arch != "cpu") {
    return failed(FailureKind::kUnsupported, "compile",
                  fmt::format("the CPU device cannot run code for `{}`", source.arch));
  }
  if (source.build == Build::kChecked && compiler_.family != HostCompiler::Family::kGcc) {
    return failed(
        FailureKind::kUnsupported, "compile",
        fmt::format("the checked build is not supported with {}: it needs g++", compiler_.description));
  }
  RewriteOutcome rewritten =
      rewrite(source.text, source.build == Build::kChecked ? SharedForm::kReference : SharedForm::kDirect);
  if (rewritten.failure) {
    const RewriteFailure& failure = *rewritten.failure;
    return failed(failure.kind, failure.check,
                  fmt::format("{}:{}: {}", display_name(source), failure.line, failure.message));
  }
  Rewritten& code = rewritten.code;
  for (const std::string& include : code.includes) {
    const DeviceHeader* header = headers_.find(include);
    if (header == nullptr) continue;
    code.has_volatile = code.has_volatile || header->has_volatile;
    code.may_block = code.may_block || header->may_block;
    code.kernels_from_macros = code.kernels_from_macros || header->has_kernels;
  }
  if (auto unknown = unknown_entry(source, code)) {
    return failed(FailureKind::kCompile, "compile", std::move(*unknown));
  }
  Unit unit;
  AK_TRY(text, translation_unit(source, code.text));
  unit.text = std::move(text);
  unit.build = source.build;
  unit.form = code.has_volatile       ? ThreadForm::kSpinning
              : code.may_block        ? ThreadForm::kSuspending
              : code.has_global_index ? ThreadForm::kIndexLoop
                                      : ThreadForm::kPlainLoop;
  return run(source, unit);
}

std::vector<std::string> CpuCompiler::flags_of(const Unit& unit) const {
  std::vector<std::string> flags = compile_flags(compiler_, unit.build, unit.form);
  flags.insert(flags.end(), options_.extra_flags.begin(), options_.extra_flags.end());
  return flags;
}

std::vector<std::string> CpuCompiler::command(const Unit& unit) {
  const std::vector<std::string> flags = flags_of(unit);
  std::vector<std::string> argv = {compiler_.program.string()};
  argv.insert(argv.end(), flags.begin(), flags.end());
  for (std::string& flag : link_flags()) argv.push_back(std::move(flag));
  if (compiler_.family == HostCompiler::Family::kGcc) {
    const auto precompile = [&](const std::vector<std::string>& with,
                                const std::filesystem::path& output) -> Status {
      std::vector<std::string> words = {compiler_.program.string()};
      words.insert(words.end(), with.begin(), with.end());
      for (const std::string& word :
           {"-I" + headers_.prelude.string(), std::string("-x"), std::string("c++-header"),
            (headers_.prelude / "ak_prelude.h").string(), std::string("-o"), output.string()}) {
        words.push_back(word);
      }
      AK_TRY(done, run_process(process(std::move(words), output.parent_path())));
      if (done.exit_code != 0) return environment_error("cannot precompile the prelude: {}", done.err);
      return {};
    };
    if (const auto folder = prelude_.folder(flags, precompile)) argv.push_back("-I" + folder->string());
  }
  argv.push_back("-I" + headers_.prelude.string());
  argv.push_back("-I" + (unit.build == Build::kChecked ? headers_.device_checked : headers_.device).string());
  for (const char* word : {"-o", kObjectName, "-x", "c++", "-", "-x", "none", "-lm", "-lc", "-lgcc"}) {
    argv.emplace_back(word);
  }
  return argv;
}

/// The compiler in its sandbox: it sees itself, our headers and an empty folder.
ProcessSpec CpuCompiler::process(std::vector<std::string> argv, const std::filesystem::path& folder) const {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.directory = folder;
  spec.environment =
      std::vector<std::string>{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + folder.string()};
  spec.deadline = kDeadline;
  spec.memory_limit_bytes = kMemoryBytes;
  spec.cpu_limit_s = kCpuSeconds;
  spec.file_limit_bytes = kObjectBytes;
  if (options_.sandbox == SandboxMode::kRequired) {
    Sandbox sandbox;
    sandbox.read_only = compiler_.readable();
    sandbox.read_only.push_back(headers_.root);
    sandbox.read_write = {folder};
    spec.sandbox = std::move(sandbox);
  }
  return spec;
}

Result<device::CompileOutcome> CpuCompiler::run(const Source& source, const Unit& unit) {
  AK_TRY(folder, TempDir::create("autokernel-compile"));
  ProcessSpec spec = process(command(unit), folder.path());
  spec.input = unit.text;
  AK_TRY(done, run_process(spec));
  const Scrubs scrubs = {{headers_.device.string() + "/", ""},
                         {headers_.device_checked.string() + "/", ""},
                         {headers_.prelude.string() + "/", "<prelude>/"},
                         {headers_.root.string(), "<prelude>"},
                         {folder.path().string() + "/", ""}};
  const std::string log = tidy_log(done.err, scrubs);
  if (done.timed_out || log.find("CPU time limit exceeded") != std::string::npos) {
    return failed(
        FailureKind::kTimeout, "compile.sandbox",
        fmt::format("{}: the compile took more than {} s of CPU time", display_name(source), kCpuSeconds));
  }
  if (done.exit_code != 0) {
    Diagnosis diagnosis = diagnose(log, source);
    if (!diagnosis.about_the_source) {
      return environment_error("{} failed without a word about the kernel: {}", compiler_.program.string(),
                               log);
    }
    device::CompileOutcome outcome;
    outcome.failure = std::move(diagnosis.failure);
    return outcome;
  }
  AK_TRY(object, read_file(folder.path() / kObjectName, kObjectBytes));
  Binary binary;
  binary.log = log;
  binary.sandboxed = spec.sandbox.has_value();
  binary.compile_s = done.wall_s;
  return finish(source, std::move(object), std::move(binary));
}

Result<device::CompileOutcome> CpuCompiler::finish(const Source& source, std::string object,
                                                   Binary binary) const {
  AK_TRY(facts, elf_facts(object, source.entries, source.build));
  AK_TRY_VOID(write_shared_layout(object, facts));
  binary.format = "elf";
  binary.arch = "cpu";
  binary.bytes = std::move(object);
  binary.entries = std::move(facts.entries);
  binary.facts = std::move(facts.code);
  device::CompileOutcome outcome;
  outcome.binary = std::move(binary);
  return outcome;
}

}  // namespace ak::cpu
