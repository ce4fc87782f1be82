#pragma once
// Ctrl-C and SIGTERM: the first one ends a command at once, unless the command stops by itself where nothing
// is lost; a second one always does.

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace ak::cli {

class Interruption {
 public:
  /// For commands that look at it between two experiments, or two configs: from now on the first signal sets
  /// it.
  const std::atomic<bool>& watch() {
    watched_ = true;
    return requested_;
  }

  /// Async-signal-safe.
  void on_signal() noexcept {
    if (!watched_ || requested_.exchange(true)) {
      say("\nautokernel: interrupted\n");
      std::_Exit(130);
    }
    say("\nautokernel: stopping at the next safe point; once more to end at once\n");
  }

 private:
  static void say(std::string_view text) noexcept {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  std::atomic<bool> watched_{false}, requested_{false};
};

}  // namespace ak::cli
