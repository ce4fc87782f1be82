#include "autokernel/device/cuda/compiler_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "autokernel/base/text_lines.h"

namespace ak::cuda {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.size() < 2) return;  // never "/" or nothing
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

constexpr std::string_view kNameMap = "__nv_name_map";  // the file in which NVRTC looks entries up

bool is_noise(std::string_view line) {
  return line.starts_with("Remark:") || line.starts_with("Compilation terminated") ||
         (line.find("detected in the compilation of") != std::string_view::npos);
}

}  // namespace

std::string clean_log(std::string_view log, std::span<const std::filesystem::path> hidden,
                      std::size_t max_bytes) {
  std::string text(log.substr(0, 1 << 20));
  for (const std::filesystem::path& folder : hidden) replace_all(text, folder.string(), "<cuda>");
  std::string cleaned;
  std::size_t left_out = 0;
  bool blank = true;     // swallows blank lines at the start and repeated ones
  bool skipped = false;  // inside of a message that ends with a blank line
  for (const std::string_view line : lines_of(text)) {
    if (is_noise(line)) continue;
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    skipped = !is_blank && (skipped || line.starts_with(kNameMap));
    if (skipped || (is_blank && blank)) continue;
    blank = is_blank;
    if (left_out != 0 || cleaned.size() + line.size() + 1 > max_bytes) {
      ++left_out;
      continue;
    }
    cleaned += line;
    cleaned += '\n';
  }
  while (!cleaned.empty() && cleaned.back() == '\n') cleaned.pop_back();
  if (left_out != 0) cleaned += fmt::format("\n... ({} more lines)", left_out);
  return cleaned;
}

std::optional<std::string> missing_entry(std::string_view log) {
  constexpr std::string_view kIntroduction = "Input name expression was: \"";
  const std::size_t at = log.find(kIntroduction);
  if (log.find(kNameMap) == std::string_view::npos || at == std::string_view::npos) return std::nullopt;
  std::string_view name = log.substr(at + kIntroduction.size());
  name = name.substr(0, name.find('"'));
  while (name.starts_with(' ')) name.remove_prefix(1);
  return std::string(name);
}

bool reaches_outside(std::string_view log) {
  for (const std::string_view line : lines_of(log)) {
    const std::size_t message = line.find("open source file \"");
    if (message == std::string_view::npos) continue;
    const std::string_view path = line.substr(line.find('"', message) + 1);
    if (path.starts_with('/') || path.substr(0, path.find('"')).find("..") != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace ak::cuda
