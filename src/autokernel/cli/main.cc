// The one binary.

#include <csignal>

#include "autokernel/cli/command_line.h"

namespace {

ak::cli::Interruption interruption;  // the one thing a signal handler may touch

extern "C" void on_interrupt(int) { interruption.on_signal(); }

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return ak::cli::run_command_line(argc, argv, interruption);
}
