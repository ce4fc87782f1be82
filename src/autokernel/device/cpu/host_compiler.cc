#include "autokernel/device/cpu/host_compiler.h"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/base/subprocess.h"

namespace ak::cpu {
namespace {

namespace fs = std::filesystem;

bool is_wrapper(const fs::path& program) {
  std::error_code ignored;
  return fs::weakly_canonical(program, ignored).filename().string().find("ccache") != std::string::npos;
}

/// Looks a name up in PATH's folders, passing over wrappers.
Result<fs::path> find_compiler(const std::string& name) {
  AK_TRY(first, find_program(name));
  if (name.find('/') != std::string::npos || !is_wrapper(first)) return first;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (folder.empty()) continue;
    if (auto found = find_program((fs::path(folder) / name).string()); found && !is_wrapper(*found))
      return *found;
  }
  return environment_error("only a wrapper of ccache answers to {}", name);
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

/// Decides what -march=native means.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string result;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("model") || line.starts_with("flags") || line.starts_with("Features") ||
        line.starts_with("CPU ") || line.starts_with("vendor")) {
      result += line + "\n";
    }
  }
  return content_hash(result);
}

Result<std::string> output_of(const fs::path& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.string());
  AK_TRY(done, run_process({.argv = std::move(arguments), .deadline = std::chrono::seconds(10)}));
  if (done.exit_code != 0) return environment_error("{} fails: {}", program.string(), first_line(done.err));
  return done.out;
}

/// The last word of "g++ (Debian 12.2.0-14) 12.2.0" that starts with a digit.
std::string version_in(std::string_view line) {
  std::string version;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (!word.empty() && word[0] >= '0' && word[0] <= '9') version = word;
  }
  return version;
}

Result<HostCompiler> examine(const fs::path& program) {
  HostCompiler compiler;
  compiler.program = program;
  AK_TRY(version, output_of(program, {"--version"}));
  const std::string line = first_line(version);
  compiler.family =
      line.find("clang") != std::string::npos ? HostCompiler::Family::kClang : HostCompiler::Family::kGcc;
  compiler.description = fmt::format(
      "{} {}", compiler.family == HostCompiler::Family::kClang ? "clang++" : "g++", version_in(line));
  AK_TRY(machine, output_of(program, {"-dumpmachine"}));
  if (machine.find('-') == std::string::npos) {  // "x86_64-linux-gnu"
    return environment_error("{} is neither g++ nor clang++: -dumpmachine prints no target (--version: {})",
                             program.string(), line);
  }
  compiler.identity = content_hash({line, machine, processor()});
  return compiler;
}

void append(std::vector<std::string>& flags, std::initializer_list<const char*> more) {
  flags.insert(flags.end(), more.begin(), more.end());
}

}  // namespace

std::vector<fs::path> HostCompiler::readable() const {
  std::vector<fs::path> paths = {"/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64",      "/usr/libexec",
                                 "/bin",     "/lib",     "/lib64",     "/etc/ld.so.cache"};
  std::error_code ignored;
  const fs::path real = fs::weakly_canonical(program, ignored);
  for (const fs::path& place : {program, real}) {
    const fs::path prefix = place.parent_path().parent_path();
    if (!prefix.empty() && prefix != "/" && prefix != "/usr") {
      for (const char* part : {"bin", "lib", "lib64", "libexec"}) paths.push_back(prefix / part);
    }
  }
  std::erase_if(paths, [&](const fs::path& path) { return !fs::exists(path, ignored); });
  return paths;
}

Result<HostCompiler> find_host_compiler(const std::string& program) {
  std::vector<std::string> names = {"g++", "clang++"};
  const char* chosen = std::getenv("AUTOKERNEL_CXX");
  if (!program.empty()) {
    names = {program};
  } else if (chosen != nullptr && *chosen != '\0') {
    names = {chosen};
  }
  std::string tried;
  for (const std::string& name : names) {
    auto path = find_compiler(name);
    if (path) return examine(*path);
    tried += (tried.empty() ? "" : ", ") + name;
  }
  return environment_error(
      "no C++ compiler for the CPU device (looked for {}): install g++ or set AUTOKERNEL_CXX", tried);
}

std::vector<std::string> compile_flags(const HostCompiler& compiler, Build build, ThreadForm form) {
  const bool gcc = compiler.family == HostCompiler::Family::kGcc;
  // C++17 is what NVRTC compiles by default. What distributions switch on (stack protector, CET) would be
  // imports.
  std::vector<std::string> flags = {"-std=gnu++17", "-nostdinc", "-nostdinc++"};
  append(flags,
         {"-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables"});
  append(flags, {"-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE", "-fno-ident"});
  // As nvcc: fused multiply-add, no errno, no traps; pointers are reinterpreted freely.
  append(flags, {"-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-march=native"});
  append(flags,
         {"-fdiagnostics-color=never", "-Wall", "-Wno-unknown-pragmas", "-Wno-unused", "-Wno-attributes"});
  if (gcc) {
    // -mtls-dialect=gnu2: reading threadIdx keeps the registers, which a call of __tls_get_addr does not.
    append(flags,
           {"-fwhole-program", "-ffp-contract=fast", "-fno-diagnostics-show-caret", "-fmax-errors=20"});
#if defined(__x86_64__)
    append(flags, {"-mtls-dialect=gnu2"});
#endif
  } else {
    append(flags, {"-ffp-contract=on", "-fno-caret-diagnostics", "-ferror-limit=20",
                   "-Wno-unused-command-line-argument"});
  }
  if (build == Build::kChecked) {
    append(flags, {"-DAK_CHECKED=1", "-O1", "-g", "-fsanitize=kernel-address,bounds", "--param",
                   "asan-instrumentation-with-call-threshold=0", "--param", "asan-stack=0", "--param",
                   "asan-globals=0"});
  } else {
    append(flags, {"-O3"});
    if (build == Build::kLines) append(flags, {"-g"});
    const bool plain = form == ThreadForm::kPlainLoop || form == ThreadForm::kIndexLoop;
    if (plain && gcc) append(flags, {"-DAK_PLAIN_LOOP=1"});
    if (form == ThreadForm::kIndexLoop && gcc) append(flags, {"-DAK_GLOBAL_INDEX=1"});
  }
  if (form == ThreadForm::kSpinning) append(flags, {"-fsanitize-coverage=trace-pc"});
  // clang++ would split the module's private copy of threadIdx into variables that look like __shared__
  // memory.
  if (form == ThreadForm::kSpinning || build == Build::kChecked || !gcc) {
    append(flags, {"-DAK_RUNTIME_SETS_POSITION=1"});
  }
  return flags;
}

std::vector<std::string> link_flags() {
  return {"-shared", "-nostartfiles", "-nodefaultlibs", "-Wl,-z,relro,-z,now,-z,noexecstack,--build-id=none"};
}

}  // namespace ak::cpu
