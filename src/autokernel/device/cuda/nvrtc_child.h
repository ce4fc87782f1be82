#pragma once
// The compiler process. It loads NVRTC, closes the sandbox behind itself, and only then sees the candidate's
// text compiled: from then on the CUDA headers are the only files it can read.

namespace ak::cuda {

/// Reads one job from standard input, writes one answer to standard output; the exit code. `autokernel
/// __nvrtc`.
int nvrtc_child_main();

}  // namespace ak::cuda
