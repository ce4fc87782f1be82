#pragma once
// The inside of a jail: a freshly executed process that runs one candidate module and can do nothing else.

namespace ak::cpu {

/// The main function of the process `<binary> __jail`, started by Jail with its control block as
/// descriptor 3. Never returns to the caller's caller: its value is the exit code.
int jail_main();

}  // namespace ak::cpu
