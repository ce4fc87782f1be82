#include "autokernel/kernel_candidate.h"

#include "autokernel/api/candidate_data.h"

namespace ak {

const Parameters& KernelCandidate::parameters() const { return data_->config.values; }

std::string KernelCandidate::description() const { return data_->config.to_string(); }

std::string KernelCandidate::problem() const {
  return data_->origin->target.op + " " + data_->origin->problem().label();
}

Result<std::string> KernelCandidate::code() const { return data_->origin->file.render(data_->config); }

Result<std::string> KernelCandidate::kernel_file() const {
  return kernel::with_defaults(data_->origin->file, data_->config);
}

}  // namespace ak
