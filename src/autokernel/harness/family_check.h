#pragma once
// Is an op family right? For its author, before any kernel is judged by it: costs that can be evaluated and
// make sense, draws that can be drawn, a reference that stays inside its buffers, writes all it must, gives
// the same twice and depends on every input, a contract within its own tolerance, and a tolerance that zeros
// fail.

#include <string>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/harness/context.h"
#include "autokernel/harness/reference.h"

namespace ak::harness {

struct FamilyFinding {
  std::string what;    ///< what is wrong, and where it was seen
  std::string remedy;  ///< what to do
};

/// Empty: nothing was found. The reference runs as a candidate does (isolated, in the checked build where the
/// device has one), since it is not trusted yet.
Result<std::vector<FamilyFinding>> check_family(Context& context);

Json to_json(const FamilyFinding& finding);
Result<std::vector<FamilyFinding>> family_findings_from_json(const Json& json, const std::string& what);

}  // namespace ak::harness
