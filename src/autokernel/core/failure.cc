#include "autokernel/core/failure.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak {
namespace {

// In the order of the enumerations.
constexpr std::string_view kKinds[] = {
    "invalid_config", "unsupported",   "compile",           "audit",          "wrong", "nondeterministic",
    "race",           "uninitialised", "divergent_barrier", "out_of_bounds",  "crash", "timeout",
    "out_of_memory",  "device",        "implausible",       "infrastructure",
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(FailureKind::kInfrastructure) + 1);

constexpr std::string_view kStages[] = {
    "compile",     "audit",      "smoke",     "shape_sweep", "numerical_stability",
    "determinism", "edge_cases", "integrity", "time",        "plausibility",
};
static_assert(std::size(kStages) == static_cast<std::size_t>(Stage::kPlausibility) + 1);

template <class E, std::size_t N>
std::optional<E> find(const std::string_view (&names)[N], std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(FailureKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
std::optional<FailureKind> failure_kind_from_name(std::string_view name) {
  return find<FailureKind>(kKinds, name);
}

std::string_view name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }
std::optional<Stage> stage_from_name(std::string_view name) { return find<Stage>(kStages, name); }

Json to_json(const Failure& failure) {
  return {{"stage", name(failure.stage)},
          {"kind", name(failure.kind)},
          {"check", failure.check},
          {"message", failure.message}};
}

Result<Failure> failure_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Failure failure;
  in.read_name("stage", failure.stage, stage_from_name);
  in.read_name("kind", failure.kind, failure_kind_from_name);
  in.read("check", failure.check);
  in.read("message", failure.message);
  return in.finish(std::move(failure));
}

}  // namespace ak
