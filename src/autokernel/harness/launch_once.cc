#include "autokernel/harness/launch_once.h"

#include "autokernel/harness/candidate.h"
#include "autokernel/harness/sizes.h"
#include "autokernel/harness/verifier.h"

namespace ak::harness {

Outcome launch_once(device::Device& device, device::Compiler& compiler, const op::Family& family,
                    const Clock& clock, const LaunchOnce& request) {
  TrustedKernels trusted(device, compiler);
  const CheckSet checks = CheckSet::all();
  Context context{
      device, compiler, trusted, family, checks, clock, Limits::for_device(device.info()), Rng(request.seed)};
  AK_TRY(made, Candidate::create(context, request.candidate));
  if (auto* failure = std::get_if<Failure>(&made)) return std::optional(std::move(*failure));
  Candidate& candidate = std::get<Candidate>(made);
  const Build build = device.info().kind == "cpu" ? Build::kTimed : Build::kLines;
  AK_TRY(prepared, candidate.prepare(request.problem, build));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  AK_TRY(data, DataSet::allocate(device, family, request.problem, {}));
  AK_TRY(workspaces, Workspaces::allocate(device, std::get<Prepared>(prepared).plan));
  const op::Draw& draw = *draws_of(family, Stage::kTime).front();
  AK_TRY(inputs, input_steps(context, request.problem, data, draw, nullptr, request.seed));
  AK_TRY_VOID(run_trusted(context, inputs));
  AK_TRY(steps, candidate_steps(std::get<Prepared>(prepared), data, workspaces));
  for (std::uint32_t i = 0; i < request.repeats; ++i) {
    // A debugger may hold a kernel for as long as its user thinks.
    AK_TRY(outcome, device.run(steps, std::chrono::hours(24)));
    if (outcome.fault) {
      return std::optional(
          Failure{Stage::kSmoke, outcome.fault->kind, outcome.fault->check,
                  fmt::format("launch {} of {}: {}", i + 1, request.repeats, outcome.fault->message)});
    }
  }
  return std::optional<Failure>();
}

}  // namespace ak::harness
