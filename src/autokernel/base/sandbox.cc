#include "autokernel/base/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "autokernel/base/landlock_rules.h"
#include "autokernel/base/seccomp_filter.h"

namespace ak {
namespace {

// Which files a root may open is Landlock's business; every other power of a root goes.
constexpr std::uint64_t kKeptCapabilities = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;

// Descriptors below are handed to the child by number.
constexpr int kFirstPrivateFd = 64;

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
};

/// What stays of the caller's capabilities.
Capabilities reduced_capabilities() {
  Capabilities capabilities;
  if (::syscall(SYS_capget, &capabilities.header, capabilities.data) != 0) return Capabilities();
  for (int i = 0; i < 2; ++i) {
    const auto kept = static_cast<std::uint32_t>(kKeptCapabilities >> (32 * i));
    capabilities.data[i].effective &= kept;
    capabilities.data[i].permitted &= kept;
    capabilities.data[i].inheritable = 0;
  }
  return capabilities;
}

}  // namespace

struct PreparedSandbox::State {
  UniqueFd ruleset;
  std::vector<sock_filter> filter;
  bool drops_capabilities = false;
  Capabilities capabilities;
};

std::string SandboxSupport::missing() const {
  std::string text;
  if (landlock_abi == 0) text = "Landlock (kernel 5.13 or later)";
  if (!seccomp) text += std::string(text.empty() ? "" : " and ") + "seccomp filters (CONFIG_SECCOMP_FILTER)";
  return text;
}

SandboxSupport sandbox_support() {
  SandboxSupport support;
  support.landlock_abi = landlock_abi();
  support.seccomp = seccomp_available();
  return support;
}

Result<PreparedSandbox> PreparedSandbox::prepare(const Sandbox& sandbox) {
  const SandboxSupport support = sandbox_support();
  if (!support.complete()) {
    return environment_error("cannot create a sandbox: this kernel has no {}", support.missing());
  }
  auto state = std::make_unique<State>();
  AK_TRY(ruleset, make_landlock_ruleset(sandbox, support.landlock_abi));
  state->ruleset = UniqueFd(::fcntl(ruleset.get(), F_DUPFD_CLOEXEC, kFirstPrivateFd));
  if (!state->ruleset.valid()) return environment_error("cannot create a sandbox: {}", std::strerror(errno));
  AK_TRY(filter, make_seccomp_filter(sandbox));
  state->filter = std::move(filter);
  state->drops_capabilities = sandbox.deny_process_control;
  state->capabilities = reduced_capabilities();
  return PreparedSandbox(state.release());
}

PreparedSandbox::PreparedSandbox(PreparedSandbox&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}

PreparedSandbox& PreparedSandbox::operator=(PreparedSandbox&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

PreparedSandbox::~PreparedSandbox() { delete state_; }

int PreparedSandbox::enter() const noexcept {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (state_->drops_capabilities) {
    Capabilities capabilities = state_->capabilities;
    if (::syscall(SYS_capset, &capabilities.header, capabilities.data) != 0) return errno;
  }
  if (const int error = enter_landlock(state_->ruleset.get()); error != 0) return error;
  return enter_seccomp(state_->filter);
}

}  // namespace ak
