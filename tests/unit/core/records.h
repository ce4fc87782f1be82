#pragma once
// One value of each record with every field set, for round trips and hostile edits.

#include "autokernel/core/experiment.h"
#include "autokernel/core/verdict.h"

namespace ak::testing {

DeviceInfo device_sample();
Timing timing_sample();
Verdict verdict_sample();
Trial trial_sample();
Experiment experiment_sample();

}  // namespace ak::testing
