// The one binary.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "autokernel/cli/command_line.h"

namespace {

std::atomic<bool> interrupted{false};  // the one thing a signal handler may touch

extern "C" void on_interrupt(int) {
  if (interrupted.exchange(true)) std::_Exit(130);  // a second Ctrl-C: at once
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return ak::cli::run_command_line(argc, argv, interrupted);
}
