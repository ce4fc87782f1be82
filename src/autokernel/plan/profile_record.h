#pragma once
// profile.json: what `autokernel profile` writes beside the trace of a model
// (docs/reference/profile-json.md).

#include <filesystem>
#include <optional>

#include "autokernel/base/result.h"
#include "autokernel/plan/model_graph.h"
#include "autokernel/plan/plan.h"

namespace ak::plan {

struct ProfileRecord {
  std::filesystem::path trace;      ///< beside the record
  std::optional<ModelGraph> graph;  ///< nullopt: none was captured
};

/// nullopt: the file is no record (it may be a trace).
Result<std::optional<ProfileRecord>> read_profile_record(const std::filesystem::path& path);

/// Writes the sites of the plan into the record: id, op, dims, flags, dtype, strides, calls, share, places.
Status add_sites(const std::filesystem::path& record, const Plan& plan);

}  // namespace ak::plan
