#pragma once
// Messages for people, on standard error. A Log is passed down; there is no global one.

#include <fmt/core.h>

#include <cstdio>
#include <string_view>

namespace ak {

enum class LogLevel { kQuiet, kWarning, kInfo, kDebug };

class Log {
 public:
  explicit Log(LogLevel level = LogLevel::kInfo, std::FILE* stream = stderr)
      : level_(level), stream_(stream) {}
  virtual ~Log() = default;
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    if (level_ >= LogLevel::kInfo) write("", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    if (level_ >= LogLevel::kWarning) write("warning: ", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    if (level_ >= LogLevel::kDebug) write("debug: ", fmt::format(format, std::forward<Args>(args)...));
  }

 protected:
  virtual void write(std::string_view prefix, std::string_view message);

 private:
  LogLevel level_;
  std::FILE* stream_;
};

}  // namespace ak
