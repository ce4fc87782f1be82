// selftest: planted cheats must be caught, honest kernels accepted; with --mutate, each list of checks is
// proved.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "autokernel/base/progress.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/selftest_lanes.h"
#include "autokernel/kernel/spelling.h"

namespace ak::cli {
namespace {

constexpr std::size_t kGpuLanes = 4;

struct Skipped {
  std::string name, why;
};

/// Checks that this device cannot show.
std::vector<Skipped> skipped_checks(const std::string& device) {
  std::vector<Skipped> list = {
      {"time.cold", "rejects no kernel: it notes a gain that single launches with a cold cache do not show"},
      {"time.keep", "rejects no kernel: `tune` keeps a winner by it (tests of the campaign)"}};
  if (device == "cpu") {
    list.push_back({"audit.code", "needs the CUDA device: it judges PTX (audit.symbols stands for it here)"});
  } else {
    list.push_back(
        {"audit.symbols", "needs the CPU device: it judges native code (audit.code stands for it here)"});
    list.push_back({"checked.*", "needs the CPU device: CUDA has no checked build"});
  }
  return list;
}

/// Cheats and honest kernels by turns, so that the next candidate in a worker that met a cheat is often an
/// honest one. What takes longest comes first.
std::vector<SelftestCase> by_turns(std::vector<SelftestCase> cheats, std::vector<SelftestCase> honest) {
  std::stable_partition(cheats.begin(), cheats.end(), [](const SelftestCase& each) { return each.hangs; });
  std::vector<SelftestCase> all;
  const std::size_t every = honest.empty() ? 1 : std::max<std::size_t>(1, cheats.size() / honest.size());
  for (std::size_t i = 0, h = 0; i < cheats.size() || h < honest.size();) {
    for (std::size_t k = 0; k < every && i < cheats.size(); ++k) all.push_back(std::move(cheats[i++]));
    if (h < honest.size()) all.push_back(std::move(honest[h++]));
  }
  return all;
}

Json names_of(const std::vector<SelftestResult>& results,
              const std::function<bool(const SelftestResult&)>& which) {
  Json names = Json::array();
  for (const SelftestResult& each : results) {
    if (which(each)) names.push_back(each.name);
  }
  return names;
}

std::size_t count(const std::vector<SelftestResult>& results,
                  const std::function<bool(const SelftestResult&)>& which) {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), which));
}

Json selftest_json(const std::string& device, const std::vector<SelftestResult>& results,
                   const std::vector<Skipped>& skipped) {
  auto cheat = [](const SelftestResult& each) { return each.cheat; };
  auto honest = [](const SelftestResult& each) { return !each.cheat; };
  Json left_out = Json::array();
  for (const Skipped& each : skipped) left_out.push_back({{"name", each.name}, {"why", each.why}});
  return {{"schema", 1},
          {"device", device},
          {"cheats",
           {{"planted", count(results, cheat)},
            {"caught", count(results, [](const auto& each) { return each.cheat && each.good; })},
            {"missed", names_of(results, [](const auto& each) { return each.cheat && !each.good; })}}},
          {"honest",
           {{"planted", count(results, honest)},
            {"accepted", count(results, [](const auto& each) { return !each.cheat && each.good; })},
            {"rejected", names_of(results, [](const auto& each) { return !each.cheat && !each.good; })}}},
          {"mutation",
           {{"proved", count(results, [](const auto& each) { return each.proved == true; })},
            {"unproved", names_of(results, [](const auto& each) { return each.proved == false; })}}},
          {"skipped", std::move(left_out)}};
}

/// How long wrong candidates took to reject, compiles not counted.
std::string rejection_line(std::vector<SelftestResult> results) {
  std::erase_if(results, [](const SelftestResult& each) { return !each.wrong; });
  if (results.empty()) return "";
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.judge_s < b.judge_s; });
  return fmt::format("wrong results rejected in: {:.2f} s (median), {:.2f} s ({})\n",
                     results[results.size() / 2].judge_s, results.back().judge_s, results.back().name);
}

std::string selftest_text(const Json& json) {
  std::string out = fmt::format("device: {}\ncheats: {} of {} caught\nhonest: {} of {} accepted\n",
                                json["device"].get<std::string>(), json["cheats"]["caught"].get<int>(),
                                json["cheats"]["planted"].get<int>(), json["honest"]["accepted"].get<int>(),
                                json["honest"]["planted"].get<int>());
  const std::size_t tried =
      json["mutation"]["proved"].get<std::size_t>() + json["mutation"]["unproved"].size();
  if (tried > 0)
    out += fmt::format("mutation: {} of {} proved\n", json["mutation"]["proved"].get<int>(), tried);
  for (const Json& each : json["skipped"]) {
    out += fmt::format("skipped: {}: {}\n", each["name"].get<std::string>(), each["why"].get<std::string>());
  }
  return out;
}

tl::unexpected<Error> unknown_case(const std::string& name, const std::vector<std::string>& names,
                                   const std::vector<Skipped>& skipped) {
  for (const Skipped& each : skipped) {
    if (each.name == name) return usage_error("--only {}: skipped here: {}", name, each.why);
  }
  std::vector<std::string> alike;  // what the user may have meant: a part of the name, or nearly it
  for (const std::string& each : names) {
    if (each.find(name) != each.npos) alike.push_back(each);
  }
  return usage_error(
      "--only {}: no cheat and no honest kernel has this name; {}", name,
      alike.empty() ? kernel::spelling_hint(name, names) : "there are " + kernel::joined(alike));
}

int print_suggestions(Session& session, const std::string& device,
                      const std::vector<SelftestResult>& results) {
  Json lists = Json::object();
  for (const SelftestResult& each : results) {
    lists[each.name] = each.why;
    if (!session.options().json) session.print(fmt::format("{}: {}\n", each.name, each.why));
  }
  if (session.options().json) {
    session.print_json({{"schema", 1}, {"device", device}, {"suggested", std::move(lists)}});
  }
  return 0;
}

}  // namespace

Result<int> run_selftest(Session& session, const SelftestOptions& options) {
  AK_TRY(device, session.device_kind());
  AK_TRY(registry, session.registry());
  AK_TRY(cheats, selftest_cheats());
  AK_TRY(honest, selftest_honest());
  std::vector<Skipped> skipped = skipped_checks(device);
  if (options.suggest) honest.clear();
  std::erase_if(cheats, [&](const SelftestCase& each) {
    if (each.checks.contains(device) || options.suggest) return false;
    skipped.push_back(
        {each.name, fmt::format("needs the {} device: {}", device == "cpu" ? "CUDA" : "CPU", each.about)});
    return true;
  });
  SelftestPlan plan;
  plan.cases = by_turns(std::move(cheats), std::move(honest));
  if (!options.only.empty()) {
    std::vector<std::string> names;
    for (const SelftestCase& each : plan.cases) names.push_back(each.name);
    std::erase_if(plan.cases, [&](const SelftestCase& each) { return each.name != options.only; });
    if (plan.cases.empty()) return unknown_case(options.only, names, skipped);
  }
  plan.device = device;
  plan.worker = session.worker_command(device);
  plan.worker.emplace_back("--selftest");
  plan.families = worker::travelling_families(*registry);
  plan.registry = registry;
  plan.mutate = options.mutate;
  plan.suggest = options.suggest;
  // Drivers make one context after another, so that more lanes on a GPU only disturb each other.
  plan.lanes = device == "cpu" ? std::max(1U, std::thread::hardware_concurrency()) : kGpuLanes;
  Progress progress("selftest", plan.cases.size(), session.clock(),
                    session.options().quiet ? Progress::Style::kNone : Progress::Style::kAuto);
  AK_TRY(results, run_selftest_cases(
                      plan, [&](std::size_t done, const std::string& name) { progress.update(done, name); }));
  progress.finish();
  if (options.suggest) return print_suggestions(session, device, results);
  const Json json = selftest_json(device, results, skipped);
  bool good = true;
  for (const SelftestResult& each : results) {
    if (each.good && each.proved != false) continue;
    good = false;
    session.log().warning("{} {}: {}", !each.good ? (each.cheat ? "missed" : "rejected") : "unproved",
                          each.name, each.why);
  }
  if (session.options().json) {
    session.print_json(json);
  } else {
    session.print(selftest_text(json) + rejection_line(results));
  }
  return good ? 0 : 1;
}

}  // namespace ak::cli
