#pragma once
// The compiler process. It loads NVRTC, closes the sandbox behind itself, and only then compiles: from then
// on the CUDA headers are the only files it can read. It stays for further jobs, since loading NVRTC and its
// first compile cost as much as a small kernel (docs/adr/0015).

namespace ak::cuda {

/// Reads jobs from standard input and writes an answer to each to standard output, until the input ends; the
/// exit code. `autokernel __nvrtc`.
int nvrtc_child_main();

}  // namespace ak::cuda
