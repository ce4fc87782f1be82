#pragma once
// Parses the command line, runs one subcommand, turns errors into messages and exit codes.

#include "autokernel/cli/interruption.h"

namespace ak::cli {

int run_command_line(int argc, char** argv, Interruption& interruption);

}  // namespace ak::cli
