#pragma once
// Architectures by name: the limits that candidates must keep, without the device at hand.

#include <string_view>

#include "autokernel/core/device_info.h"

namespace ak::api {

/// "cpu" is this machine; "sm_90a" and the like have what the CUDA programming guide (compute capabilities)
/// guarantees.
Result<DeviceInfo> describe_architecture(std::string_view name);

}  // namespace ak::api
