#pragma once
// Why a candidate failed: data, not an error. The closed list of kinds of DESIGN section 6.

#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"

namespace ak {

enum class FailureKind {
  kInvalidConfig,
  kUnsupported,
  kCompile,
  kAudit,
  kWrong,
  kNondeterministic,
  kRace,
  kUninitialised,
  kDivergentBarrier,
  kOutOfBounds,
  kCrash,
  kTimeout,
  kOutOfMemory,
  kDevice,
  kImplausible,
  kInfrastructure,
};
std::string_view name(FailureKind kind);  ///< "invalid_config", "unsupported", ...
std::optional<FailureKind> failure_kind_from_name(std::string_view name);

/// Where in the pipeline.
enum class Stage {
  kCompile,
  kAudit,
  kSmoke,
  kShapeSweep,
  kNumericalStability,
  kDeterminism,
  kEdgeCases,
  kIntegrity,
  kTime,
  kPlausibility,
};
std::string_view name(Stage stage);  ///< "compile", "audit", "smoke", "shape_sweep", ...
std::optional<Stage> stage_from_name(std::string_view name);

struct Failure {
  Stage stage = Stage::kCompile;
  FailureKind kind = FailureKind::kCompile;
  std::string check;    ///< id of HARNESS.md that fired, e.g. "guard.poison", or "compile"
  std::string message;  ///< for people: what, where (problem, element, line), what to do
};

Json to_json(const Failure& failure);
Result<Failure> failure_from_json(const Json& json, const std::string& what);

}  // namespace ak
