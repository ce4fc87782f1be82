#pragma once
// Parses the command line, runs one subcommand, turns errors into messages and exit codes.

#include <atomic>

namespace ak::cli {

int run_command_line(int argc, char** argv, const std::atomic<bool>& interrupted);

}  // namespace ak::cli
