#pragma once
// What a GPU can do, asked of the driver.

#include "autokernel/core/device_info.h"
#include "autokernel/device/cuda/driver_api.h"

namespace ak::cuda {

Result<DeviceInfo> describe_device(const DriverApi& api, DeviceOrdinal device);

}  // namespace ak::cuda
