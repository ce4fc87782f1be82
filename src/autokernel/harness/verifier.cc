#include "autokernel/harness/verifier.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autokernel/harness/comparison.h"

namespace ak::harness {
namespace {

// The norm-wise check compares two random errors: with few rows an honest order of additions may be several
// times luckier than another (rmsnorm of 4 rows: ratio 5; tests/separation), and a norm has one error a row.
constexpr double kNormElements = 4096;
constexpr double kNormRows = 32;

std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index) {
  return Rng(seed + 0x9e3779b97f4a7c15ULL * (index + 1)).next();
}

Result<device::TensorMap> bound_tensor_map(const LaunchPlan& plan, const DataSet& data,
                                           const std::string& name) {
  const auto found = std::find_if(plan.tensor_maps.begin(), plan.tensor_maps.end(),
                                  [&](const TensorMapPlan& each) { return each.name == name; });
  if (found == plan.tensor_maps.end()) return internal_error("the plan has no tensor map {}", name);
  const std::optional<device::BufferRef> at = data.find(found->tensor);
  if (!at) return usage_error("tensor map {}: the problem has no tensor {}", name, found->tensor);
  return tensor_map_of(*found, *at, data.view(found->tensor).dtype, data.shape(found->tensor));
}

}  // namespace

Status run_trusted(Context& context, std::span<const device::Step> steps) {
  AK_TRY(outcome, context.device.run(steps, std::chrono::minutes(2)));
  if (outcome.fault) {
    return internal_error("a trusted kernel of op family {} failed ({}): {}", context.family.name,
                          name(outcome.fault->kind), outcome.fault->message);
  }
  return {};
}

Result<std::vector<device::Step>> input_steps(Context& context, const Problem& problem, const DataSet& data,
                                              const op::Draw& draw, const op::Probe* probe,
                                              std::uint64_t seed) {
  std::vector<device::Step> steps;
  auto changed = [&](const std::string& tensor) {
    return probe != nullptr && (probe->tensor == tensor || std::find(probe->also.begin(), probe->also.end(),
                                                                     tensor) != probe->also.end());
  };
  for (std::size_t i = 0; i < data.inputs().size(); ++i) {
    const std::string& tensor = data.inputs()[i];
    const View& view = data.view(tensor);
    auto distribution = draw.tensors.find(tensor);
    if (distribution == draw.tensors.end()) {
      return usage_error("op family {}: draw {} has no distribution for {}", context.family.name, draw.name,
                         tensor);
    }
    std::uint64_t rows = view.elements / view.row_elements;
    bool permute = changed(tensor) && probe->kind == "permute_rows";
    std::uint64_t shift = permute && rows > 1 ? 1 + seed % (rows - 1) : 0;
    AK_TRY(generate,
           context.trusted.generate(view, distribution->second, problem, tensor_seed(seed, i), shift));
    steps.push_back(std::move(generate));
    if (changed(tensor) && !permute) {
      AK_TRY(change,
             context.trusted.probe(view, *probe, tensor_seed(seed, 1000)));  // the same rows in each tensor
      steps.push_back(std::move(change));
    }
  }
  return steps;
}

Result<std::vector<device::Step>> candidate_steps(const Prepared& prepared, const DataSet& data,
                                                  const Workspaces& workspaces) {
  std::vector<device::Step> steps = workspaces.zeroing();
  for (const LaunchStep& step : prepared.plan.steps) {
    AK_TRY(launch, harness::bind(
                       step, prepared.module, *prepared.binary,
                       [&](const std::string& name) {
                         std::optional<device::BufferRef> ref = workspaces.find(name);
                         return ref ? ref : data.find(name);
                       },
                       [&](const std::string& name) { return bound_tensor_map(prepared.plan, data, name); }));
    steps.push_back(std::move(launch));
  }
  return steps;
}

Result<std::vector<device::Step>> poison_steps(Context& context, const DataSet& data,
                                               const Workspaces& workspaces, std::uint64_t seed,
                                               Poison poison) {
  std::vector<device::Step> steps;
  if (!context.checks.on("guard.poison")) return steps;
  std::vector<View> views;
  for (const std::string& output : data.outputs()) views.push_back(data.view(output));
  for (const Workspaces::Item& item : workspaces.items()) {
    views.push_back({item.buffer.ref(), DType::kF32, item.buffer.bytes() / 4, 1});
  }
  for (const View& view : views) {
    AK_TRY(step, context.trusted.poison(view, seed, poison));
    steps.push_back(std::move(step));
  }
  return steps;
}

Placement allowed(const Context& context, Placement placement) {
  if (!context.checks.on("guard.input")) placement.inputs = device::Access::kReadWrite;
  return placement;
}

Result<Bench> Bench::create(Context& context, References& references, const Problem& problem,
                            const Prepared& prepared, const Placement& placement) {
  AK_TRY(data, DataSet::allocate(context.device, context.family, problem, allowed(context, placement)));
  AK_TRY(truth, Truth::allocate(context.device, context.family, problem));
  AK_TRY(workspaces, Workspaces::allocate(context.device, prepared.plan));
  Bench bench(context, references, problem, std::move(data), std::move(truth), std::move(workspaces));
  AK_TRY(launches, candidate_steps(prepared, bench.data_, bench.workspaces_));
  bench.launches_ = std::move(launches);
  return bench;
}

Status Bench::load_inputs(const op::Draw& draw, const op::Probe* probe, std::uint64_t seed) {
  draw_name_ =
      probe == nullptr ? draw.name : fmt::format("{} with {} in {}", draw.name, probe->kind, probe->tensor);
  zero_mean_ = draw.zero_mean;
  AK_TRY(steps, input_steps(*context_, problem_, data_, draw, probe, seed));
  AK_TRY(reference, references_->steps(context_->family, problem_, data_, truth_));
  steps.insert(steps.end(), reference.begin(), reference.end());
  return run_trusted(*context_, steps);
}

Failure Bench::failure(Stage stage, FailureKind kind, std::string check, std::string message) const {
  return {stage, kind, std::move(check), fmt::format("{} [{}]: {}", problem_.label(), draw_name_, message)};
}

Outcome Bench::launch(Stage stage, Poison poison, ScrubFirst scrub) {
  poison_seed_ = context_->seeds.next() | 1;
  poison_ = poison;
  AK_TRY(before, poison_steps(*context_, data_, workspaces_, poison_seed_, poison));
  if (!before.empty()) AK_TRY_VOID(run_trusted(*context_, before));
  std::vector<device::Step> steps;
  if (scrub == ScrubFirst::kYes) steps.push_back(device::Scrub{device::Scrub::What::kSharedAndLocal});
  steps.insert(steps.end(), launches_.begin(), launches_.end());
  AK_TRY(outcome, context_->device.run(steps, context_->limits.launch_deadline));
  if (outcome.fault) {
    const device::Fault& fault = *outcome.fault;
    return std::optional(failure(stage, fault.kind, fault.check, fault.message));
  }
  if (context_->checks.on("guard.edge")) {
    AK_TRY(guards, context_->device.check_guards());
    if (guards.violation) {
      return std::optional(failure(stage, FailureKind::kOutOfBounds, "guard.edge", *guards.violation));
    }
  }
  return std::optional<Failure>();
}

Outcome Bench::compare(Stage stage, const std::string& check, SumsPool* pool, double* worst) {
  for (const std::string& output : data_.outputs()) {
    AK_TRY(failed, compare_output(stage, check, output, pool, worst));
    if (failed) return std::optional(std::move(*failed));
  }
  return std::optional<Failure>();
}

Outcome Bench::compare_output(Stage stage, const std::string& check, const std::string& output,
                              SumsPool* pool, double* worst) {
  const Truth::Output& truth = truth_.outputs().at(output);
  const View& y = data_.view(output);
  bool look_for_poison = context_->checks.on("guard.poison") && poison_ == Poison::kNan;
  AK_TRY(found, compare_with_truth(*context_, y, truth, problem_.dtype, look_for_poison ? poison_seed_ : 0));
  if (worst != nullptr) *worst = std::max(*worst, found.worst);
  if (look_for_poison && found.unwritten > 0) {
    return std::optional(failure(
        stage, FailureKind::kWrong, "guard.poison",
        fmt::format("{} of {} elements of {} were not written", found.unwritten, y.elements, output)));
  }
  if (!context_->checks.on(check)) return std::optional<Failure>();
  if (found.bad > 0) {
    return std::optional(failure(stage, FailureKind::kWrong, check,
                                 fmt::format("{} of {} elements of {} are off by more than the tolerance; "
                                             "the worst, at {}, by {:.3g} times it",
                                             found.bad, y.elements, output, found.worst_at, found.worst)));
  }
  if (found.unequal_zero_rows > 0) {
    return std::optional(
        failure(stage, FailureKind::kWrong, check,
                fmt::format("{} elements of {} differ from the contract in rows that allow no error",
                            found.unequal_zero_rows, output)));
  }
  Sums sums{found.norm_y, found.norm_b, found.norm_u, static_cast<double>(y.elements),
            static_cast<double>(y.elements / truth.row_elements)};
  if (pool != nullptr) {
    Sums& pooled = (*pool)[output + "/" + draw_name_];
    pooled = {pooled.y + sums.y, pooled.b + sums.b, pooled.u + sums.u, pooled.elements + sums.elements,
              pooled.rows + sums.rows};
    sums = pooled;
  }
  double allowed = std::max(3 * std::sqrt(sums.b), std::sqrt(sums.u));
  // Only where errors are random: on a constant row the contract may be exact by luck (ADR 9).
  bool enough = zero_mean_ && sums.elements >= kNormElements && sums.rows >= kNormRows;
  if (enough && !(std::sqrt(sums.y) <= allowed)) {
    return std::optional(
        failure(stage, FailureKind::kWrong, check,
                fmt::format("the error of {} as a whole is {:.3g} times what is allowed (less precision "
                            "than fp32 accumulation and one final rounding)",
                            output, std::sqrt(sums.y) / allowed)));
  }
  return std::optional<Failure>();
}

Result<double> Bench::norm_ratio() {
  double y = 0, b = 0;
  for (const std::string& output : data_.outputs()) {
    AK_TRY(found,
           compare_with_truth(*context_, data_.view(output), truth_.outputs().at(output), problem_.dtype, 0));
    y += found.norm_y;
    b += found.norm_b;
  }
  return std::sqrt(y / b);
}

Result<bool> Bench::within_bounds() {
  for (const std::string& output : data_.outputs()) {
    AK_TRY(found,
           compare_with_truth(*context_, data_.view(output), truth_.outputs().at(output), problem_.dtype, 0));
    if (found.bad > 0) return false;
  }
  return true;
}

Result<std::uint64_t> Bench::digest() {
  std::uint64_t sum = 0;
  for (const std::string& output : data_.outputs()) {
    AK_TRY(part, digest_of(*context_, data_.view(output)));
    sum = Rng(sum ^ part).next();
  }
  return sum;
}

}  // namespace ak::harness
