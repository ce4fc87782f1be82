#pragma once
// A progress line: on a terminal one line rewritten in place with rate and time left, elsewhere a plain line
// now and then.

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/clock.h"

namespace ak {

class Progress {
 public:
  enum class Style { kAuto, kTerminal, kPlain, kNone };
  /// `total` is unknown for runs that end by time.
  Progress(std::string label, std::optional<std::size_t> total, const Clock& clock,
           Style style = Style::kAuto, std::FILE* stream = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::size_t done, std::string_view note);
  void clear();  ///< removes the line so that other output can be printed
  void finish();

 private:
  void render();
  std::string line() const;
  std::string label_;
  std::optional<std::size_t> total_;
  const Clock* clock_;
  Style style_;
  std::FILE* stream_;
  std::string note_;
  std::size_t done_ = 0;
  std::optional<std::size_t> shown_;  // what the last line said
  std::chrono::steady_clock::time_point start_, last_;
  bool visible_ = false;
};

}  // namespace ak
