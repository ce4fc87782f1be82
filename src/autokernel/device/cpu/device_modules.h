#pragma once
// The CPU device's modules: trusted ones are part of this process, each candidate has a file, a jail, and
// what the jail was started with.

#include <memory>
#include <optional>
#include <vector>

#include "autokernel/base/unique_fd.h"
#include "autokernel/device/cpu/jail.h"
#include "autokernel/device/cpu/module.h"
#include "autokernel/device/device.h"

namespace ak::cpu {

struct DeviceModule {
  device::Trust trust = device::Trust::kCandidate;
  ModuleTraits traits;
  std::vector<Entry> entries;
  UniqueFd file;
  OpenedModule opened;  ///< trusted

  std::unique_ptr<Jail> jail;
  std::uint64_t jail_table = 0;  ///< version of the buffer table that it has mapped
  std::vector<device::BufferId> jail_buffers;
  std::vector<std::string> jail_names;  ///< of jail_buffers
  RunnerNeeds needs;                    ///< grows with the launches seen
  RunnerNeeds jail_needs;
  bool scrub_pending = false;

  DeviceModule() = default;
  DeviceModule(const DeviceModule&) = delete;
  DeviceModule& operator=(const DeviceModule&) = delete;
  ~DeviceModule() { close_module(opened); }
};

}  // namespace ak::cpu
