#include <unistd.h>

#include <sstream>

#include "autokernel/base/file.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/device/cpu/fault_text.h"

namespace ak::cpu {
namespace {

/// Frames of the device's own headers say nothing to the kernel's author.
bool is_ours(const std::string& file) {
  return file.starts_with("/usr/") || file.starts_with("??") || file.find("/prelude/") != std::string::npos ||
         file.starts_with("prelude/") ||
         (file.find("autokernel/device/") != std::string::npos && file.find(".cuh:") != std::string::npos);
}

}  // namespace

std::string LineTable::line_of(std::uint64_t pc) const {
  if (pc == 0 || !find_program("addr2line")) return "";
  ProcessSpec spec;
  spec.argv = {"addr2line", "-i", "-e", fmt::format("/proc/{}/fd/{}", ::getpid(), module_fd_),
               fmt::format("{:#x}", pc - 1)};
  spec.deadline = std::chrono::seconds(5);
  auto done = run_process(spec);
  if (!done || done->exit_code != 0) return "";
  std::istringstream lines(done->out);
  for (std::string line; std::getline(lines, line);) {  // innermost frame first
    if (const auto note = line.find(" (discriminator"); note != std::string::npos) line.erase(note);
    const auto colon = line.rfind(':');
    if (colon == std::string::npos || is_ours(line)) continue;
    const std::string number = line.substr(colon + 1);
    if (number.empty() || number == "0" || number == "?") continue;
    const auto slash = line.rfind('/');
    return slash == std::string::npos ? line : line.substr(slash + 1);
  }
  return "";
}

}  // namespace ak::cpu
