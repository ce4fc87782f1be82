#include "autokernel/device/cpu/diagnostics.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "autokernel/base/text_lines.h"
#include "autokernel/device/cpu/translation_unit.h"

namespace ak::cpu {
namespace {

constexpr std::size_t kLogBytes = 4096;
constexpr std::string_view kUnsupportedMark = " is not supported on the CPU device";

struct Diagnostic {
  std::string_view file;
  int line = 0;
  std::string_view text;  ///< behind "error: "
};

/// `file:line:column: error: text`, also `fatal error` and without the column.
std::optional<Diagnostic> parse_error(std::string_view line) {
  std::size_t mark = line.find(": error: ");
  std::size_t skip = 9;
  if (const std::size_t fatal = line.find(": fatal error: "); fatal != std::string_view::npos) {
    mark = fatal;
    skip = 15;
  }
  if (mark == std::string_view::npos) return std::nullopt;
  Diagnostic found;
  found.text = line.substr(mark + skip);
  std::string_view place = line.substr(0, mark);
  for (int numbers = 0; numbers < 2; ++numbers) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) break;
    int value = 0;
    const std::string_view digits = place.substr(colon + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) break;
    found.line = value;
    place = place.substr(0, colon);
  }
  found.file = place;
  return found;
}

/// Where the kernel file uses the macro that the first error comes from; the error's own place when there is
/// none.
Diagnostic expanded_at(std::string_view log, const Diagnostic& error, std::string_view own_file) {
  Diagnostic place = error;
  bool seen = false;
  for (std::string_view line : lines_of(log)) {
    if (seen && parse_error(line)) break;
    if (parse_error(line)) seen = true;
    const std::size_t mark = line.find(": note: in expansion of macro");
    if (!seen || mark == std::string_view::npos || !line.starts_with(own_file)) continue;
    const std::string_view digits = line.substr(std::min(mark, own_file.size() + 1));
    if (std::from_chars(digits.data(), digits.data() + digits.size(), place.line).ec == std::errc())
      place.file = own_file;
  }
  return place;
}

std::string_view source_line(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string at(const Diagnostic& error) { return fmt::format("{}:{}: ", error.file, error.line); }

std::string quoted_line(const Source& source, int number) {
  const std::string_view line = source_line(source.text, number);
  return line.empty() ? std::string() : fmt::format("\n{:5} | {}", number, line.substr(0, 160));
}

std::string missing_entry(const Diagnostic& error, const Source& source) {
  std::size_t index = 0;
  const std::string_view digits = error.file.substr(kEntryFile.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const std::string_view entry =
      index < source.entries.size() ? std::string_view(source.entries[index]) : "?";
  const bool unknown = error.text.find("has not been declared") != std::string_view::npos ||
                       error.text.find("not declared") != std::string_view::npos ||
                       error.text.find("is not a member") != std::string_view::npos;
  if (unknown)
    return fmt::format("{}: entry `{}` is not a __global__ function of this file", display_name(source),
                       entry);
  return fmt::format("{}: entry `{}` cannot be launched: {}", display_name(source), entry, error.text);
}

/// All errors and what belongs to them, without what the module's table adds.
std::string message_of(std::string_view log, const Source& source, const Diagnostic& first) {
  std::string message;
  const std::string own = display_name(source);
  bool quoted = false;
  for (std::string_view line : lines_of(log)) {
    if (line.find(": warning: ") != std::string_view::npos || line.starts_with("cc1plus:")) continue;
    if (line.starts_with(kEntryFile) || line.starts_with("ak-module") ||
        line.starts_with("compilation terminated"))
      continue;
    if (!message.empty()) message += '\n';
    message += line;
    const auto error = parse_error(line);
    if (error && !quoted && error->file == own && error->line == first.line) {
      message += quoted_line(source, error->line);
      quoted = true;
    }
  }
  return message;
}

}  // namespace

std::string tidy_log(std::string_view log, const Scrubs& scrubs) {
  std::string text(log);
  for (const auto& [path, replacement] : scrubs) {
    if (path.empty()) continue;
    for (std::size_t found = text.find(path); found != std::string::npos;
         found = text.find(path, found + replacement.size())) {
      text.replace(found, path.size(), replacement);
    }
  }
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t'; });
  if (text.size() > kLogBytes) {
    const std::size_t end = text.rfind('\n', kLogBytes - 40);
    text.resize(end == std::string::npos ? kLogBytes - 40 : end);
    text += "\n... (the rest is cut)";
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Diagnosis diagnose(std::string_view log, const Source& source) {
  Diagnosis diagnosis;
  Failure& failure = diagnosis.failure;
  failure.stage = Stage::kCompile;
  failure.check = "compile";
  std::optional<Diagnostic> first;
  for (std::string_view line : lines_of(log)) {
    if ((first = parse_error(line))) break;
  }
  if (log.find("virtual memory exhausted") != std::string_view::npos ||
      log.find("out of memory") != std::string_view::npos) {
    failure.kind = FailureKind::kOutOfMemory;
    failure.check = "compile.sandbox";
    failure.message = display_name(source) + ": the compiler ran out of the memory that a compile may use";
  } else if (log.find("File size limit exceeded") != std::string_view::npos) {
    failure.check = "compile.sandbox";
    failure.message = display_name(source) + ": the object file is larger than a compile may make it";
  } else if (!first) {
    diagnosis.about_the_source = log.find("undefined reference") != std::string_view::npos ||
                                 log.find("multiple definition") != std::string_view::npos ||
                                 log.find("Assembler messages") != std::string_view::npos ||
                                 log.find("signal terminated program") != std::string_view::npos ||
                                 log.find("internal compiler error") != std::string_view::npos;
    failure.message = std::string(log);
  } else if (const std::size_t mark = first->text.find(kUnsupportedMark); mark != std::string_view::npos) {
    failure.kind = FailureKind::kUnsupported;
    std::string_view what = first->text.substr(0, mark);
    for (std::string_view before : {"static assertion failed: ", "attribute error: "}) {
      if (const std::size_t found = what.find(before); found != std::string_view::npos) {
        what.remove_prefix(found + before.size());
      }
    }
    const std::string own = display_name(source);
    const Diagnostic place = expanded_at(log, *first, own);
    failure.message =
        at(place) + std::string(what) + std::string(kUnsupportedMark) + quoted_line(source, place.line);
  } else if (const std::size_t end = first->text.find(": No such file or directory");
             end != std::string_view::npos) {
    failure.kind = FailureKind::kUnsupported;
    failure.message =
        fmt::format("{}<{}> is not available on the CPU device", at(*first), first->text.substr(0, end));
  } else if (const std::size_t denied = first->text.find(": Permission denied");
             denied != std::string_view::npos) {
    failure.check = "compile.sandbox";
    failure.message = fmt::format("{}#include of a file outside the device headers is refused", at(*first));
  } else if (first->file.starts_with(kEntryFile)) {
    failure.message = missing_entry(*first, source);
  } else {
    failure.message = message_of(log, source, *first);
  }
  return diagnosis;
}

}  // namespace ak::cpu
