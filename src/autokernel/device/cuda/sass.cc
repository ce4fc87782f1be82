#include "autokernel/device/cuda/sass.h"

#include <algorithm>
#include <cctype>

#include "autokernel/base/file.h"
#include "autokernel/base/subprocess.h"

namespace ak::cuda {
namespace {

namespace fs = std::filesystem;

std::string_view class_of(std::string_view opcode) {
  const std::string_view root = opcode.substr(0, std::min(opcode.find('.'), opcode.size()));
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), root) != names.end();
  };
  if (is({"HGMMA", "QGMMA", "IGMMA", "HMMA", "IMMA", "DMMA", "QMMA", "UTCHMMA", "UTCQMMA"})) return root;
  if (is({"LDG", "STG", "LD", "ST", "RED", "ATOMG", "ATOM", "UBLKCP", "UTMALDG", "UTMASTG", "LDGSTS"}))
    return "global";
  if (is({"LDL", "STL"})) return "local";
  if (is({"LDS", "STS", "LDSM", "STSM", "ATOMS"})) return "shared";
  if (is({"FFMA", "FADD", "FMUL", "FMNMX", "FSETP", "FSEL"})) return "fp32";
  if (is({"HFMA2", "HADD2", "HMUL2"})) return "fp16";
  if (is({"DFMA", "DADD", "DMUL"})) return "fp64";
  if (is({"MUFU"})) return "special";
  if (is({"BAR", "SYNCS", "WARPSYNC", "MEMBAR", "DEPBAR", "WARPGROUP"})) return "barriers";
  if (is({"BRA", "EXIT", "BSSY", "BSYNC", "CALL", "RET"})) return "branches";
  if (root.starts_with("F2") || root.starts_with("I2")) return "conversions";
  return "integer and other";
}

std::string_view skip_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t{"), text.size()));
  return text;
}

/// The opcode of `/*0050*/  @!P0 FFMA.FTZ R3, R4 ;`; empty for labels and directives.
std::string_view opcode_of(std::string_view line) {
  const std::size_t address = line.find("/*"), end = line.find("*/");
  if (address == std::string_view::npos || end == std::string_view::npos || end < address) return {};
  line = skip_blanks(line.substr(end + 2));
  if (line.starts_with('@')) {  // a predicate
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line = skip_blanks(line);
  }
  const auto stop = std::find_if(line.begin(), line.end(), [](unsigned char c) {
    return std::isupper(c) == 0 && std::isdigit(c) == 0 && c != '.' && c != '_';
  });
  return line.substr(0, static_cast<std::size_t>(stop - line.begin()));
}

/// Where Triton keeps its own nvdisasm, in the environment of `python`; empty where it has no Triton.
fs::path of_triton(const std::string& python) {
  if (python.empty()) return {};
  constexpr const char* kAsk =
      "import importlib.util as u; s = u.find_spec('triton'); print(*(s.submodule_search_locations if s else "
      "[]))";
  const auto done = run_process({.argv = {python, "-c", kAsk}, .deadline = std::chrono::seconds(10)});
  if (!done || done->exit_code != 0 || done->out.empty()) return {};
  return fs::path(done->out.substr(0, done->out.find('\n'))) / "backends/nvidia/bin/nvdisasm";
}

}  // namespace

fs::path find_nvdisasm(const NvrtcSearch& search, const std::string& python) {
  if (auto on_path = find_program("nvdisasm")) return *on_path;
  std::error_code ignored;
  for (const fs::path& root :
       {fs::path(search.cuda_home), fs::path(search.cuda_path), search.toolkits / "cuda"}) {
    const fs::path tool = root / "bin/nvdisasm";
    if (!root.empty() && fs::is_regular_file(tool, ignored)) return tool;
  }
  const fs::path tool = of_triton(python);
  return fs::is_regular_file(tool, ignored) ? tool : fs::path();
}

InstructionMix count_instructions(std::string_view sass) {
  InstructionMix mix;
  while (!sass.empty()) {
    const std::string_view line = sass.substr(0, std::min(sass.find('\n'), sass.size()));
    sass.remove_prefix(std::min(line.size() + 1, sass.size()));
    const std::string_view opcode = opcode_of(line);
    if (opcode.size() >= 2 && !opcode.starts_with("NOP")) ++mix[std::string(class_of(opcode))];
  }
  return mix;
}

Result<InstructionMix> instruction_mix(const fs::path& nvdisasm, const Binary& binary) {
  AK_TRY(folder, TempDir::create("autokernel-sass"));
  const fs::path cubin = folder.path() / "kernel.cubin";
  AK_TRY_VOID(write_file_atomic(cubin, binary.bytes));
  AK_TRY(done, run_process({.argv = {nvdisasm.string(), "-c", cubin.string()},
                            .deadline = std::chrono::seconds(20)}));
  if (done.exit_code != 0 || done.signal != 0)
    return environment_error("{} cannot read a cubin for {}: {}", nvdisasm.string(), binary.arch, done.err);
  return count_instructions(done.out);
}

}  // namespace ak::cuda
