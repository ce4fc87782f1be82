// ops check: is a family right? Its author asks before any kernel is judged by it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/cli/commands.h"
#include "autokernel/harness/harness.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/space.h"
#include "autokernel/worker/client.h"

namespace ak::cli {
namespace {

using Findings = std::vector<harness::FamilyFinding>;

constexpr std::chrono::milliseconds kDeadline{300'000};

/// The first size of a set, in each dtype, that the kernel takes.
Result<Target> small_target(const op::Family& family, const kernel::KernelFile& file,
                            const DeviceInfo& device) {
  Target target;
  target.op = family.name;
  for (DType dtype : file.dtypes) {
    for (const char* set : {"sweep", "smoke", "edge"}) {
      auto sizes = family.sizes.find(set);
      if (sizes == family.sizes.end()) continue;
      for (const op::Size& size : sizes->second) {
        AK_TRY(problem, op::make_problem(family, size, dtype));
        AK_TRY(invalid, kernel::check_config(file, file.defaults, problem, device));
        if (invalid) continue;
        target.problems.push_back(
            {.id = fmt::format("p{}", target.problems.size()), .problem = std::move(problem)});
        break;
      }
      if (!target.problems.empty() && target.problems.back().problem.dtype == dtype) break;
    }
  }
  return target;
}

/// The starter must pass: tuning begins there.
Result<Findings> check_starter(Session& session, worker::Pool& pool, const op::Family& family) {
  auto starter = std::find_if(family.kernels.begin(), family.kernels.end(),
                              [](const op::KernelSource& each) { return each.name.ends_with("starter.cu"); });
  if (starter == family.kernels.end()) {
    return Findings{
        {"there is no kernels/starter.cu", "write the simplest kernel that is right on every size"}};
  }
  auto wrong = [&](const std::string& how) {
    return Findings{
        {fmt::format("{}: {}", starter->name, how), "correct the starter: tuning begins with it"}};
  };
  Result<kernel::KernelFile> file = kernel::parse(starter->text, starter->name);
  if (!file) return wrong(file.error().message);
  if (Status fits = kernel::check_against(*file, harness::signature_of(family)); !fits) {
    return wrong(fits.error().message);
  }
  AK_TRY(target, small_target(family, *file, pool.hello().device));
  if (target.problems.empty())
    return wrong("its `needs` and limits exclude every size of smoke, sweep and edge");
  harness::Job job;
  job.target = std::move(target);
  job.candidate = {file->name, file->text, file->defaults};
  job.seed = secret_seed();
  AK_TRY(registry, session.registry());
  AK_TRY(sources, harness::sources_of(job, *registry, pool.hello().device));
  AK_TRY(verdict, pool.compile_and_judge(job, sources, worker::Freshness::kReuse));
  if (verdict.passed || !verdict.failure) return Findings{};
  return wrong(fmt::format("{} ({}): {}", name(verdict.failure->kind), verdict.failure->check,
                           verdict.failure->message));
}

/// The expressions and the reference in one worker; if they are right, the starter.
Result<Findings> check_one(Session& session, const op::Family& family) {
  AK_TRY(registry, session.registry());
  AK_TRY(device, session.device_kind());
  AK_TRY(client,
         worker::Client::start(session.worker_command(device), worker::travelling_families(*registry)));
  AK_TRY(findings, client->check_family(family.name, secret_seed(), kDeadline));
  if (!findings.empty()) return findings;
  AK_TRY(pool, session.start_pool());
  return check_starter(session, *pool, family);
}

}  // namespace

Result<int> run_ops_check(Session& session) {
  AK_TRY(registry, session.registry());
  bool good = true;
  Json list = Json::array();
  std::string out;
  for (const op::Family& family : registry->families()) {
    if (family.origin != op::Family::Origin::kFolder) continue;
    AK_TRY(findings, check_one(session, family));
    good = good && findings.empty();
    Json found = Json::array();
    out += fmt::format("{}: {}\n", family.name, findings.empty() ? "ok" : "wrong");
    for (const harness::FamilyFinding& finding : findings) {
      found.push_back(harness::to_json(finding));
      out += fmt::format("- {}\n  -> {}\n", finding.what, finding.remedy);
    }
    list.push_back({{"name", family.name}, {"ok", findings.empty()}, {"findings", std::move(found)}});
  }
  if (session.options().json) {
    session.print_json({{"schema", 1}, {"ops", std::move(list)}});
  } else {
    session.print(out);
  }
  return good ? 0 : 1;
}

}  // namespace ak::cli
