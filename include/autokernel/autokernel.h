#pragma once
// AutoKernel's C++ API: generate candidates of a kernel, evaluate them, search them, take the best.
// docs/how-to/use-the-cpp-api.md is the tour; link `autokernel::autokernel`.

#include "autokernel/kernel_candidate.h"
#include "autokernel/kernel_generator.h"
#include "autokernel/kernel_optimizer.h"
#include "autokernel/metrics.h"
#include "autokernel/performance_evaluator.h"
