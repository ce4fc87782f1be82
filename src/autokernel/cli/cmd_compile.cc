#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/random.h"
#include "autokernel/base/text_table.h"
#include "autokernel/cli/code_explanation.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/compilers.h"
#include "autokernel/harness/reference.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/launch.h"
#include "autokernel/kernel/space.h"
#include "autokernel/stats/summary.h"

namespace ak::cli {
namespace {

std::string binary_text(const Binary& binary, const std::string& compiler, const Problem& problem,
                        const Config& config) {
  std::string out = fmt::format("problem: {}\nconfig: {}\n", problem.label(),
                                config.values.empty() ? "(no tunables)" : config.to_string());
  out +=
      fmt::format("compiled: {} for {} by {}{}, {} bytes, {:.3f} s{}\n", binary.format, binary.arch, compiler,
                  binary.sandboxed ? "" : " WITHOUT a sandbox", binary.bytes.size(), binary.compile_s,
                  binary.from_cache ? " (from the cache: the seconds are those of its compile)" : "");
  using Align = TextTable::Align;
  TextTable table({"entry", "registers", "local bytes", "static shared bytes"},
                  {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (const Entry& entry : binary.entries) {
    table.add_row({entry.name, entry.registers > 0 ? std::to_string(entry.registers) : "-",
                   std::to_string(entry.local_bytes), std::to_string(entry.static_shared_bytes)});
  }
  out += table.plain();
  for (const std::string& item : binary.facts.forbidden) out += fmt::format("forbidden: {}\n", item);
  for (const std::string& item : binary.facts.mutable_globals)
    out += fmt::format("mutable_global: {}\n", item);
  for (const std::string& item : binary.facts.noted) out += fmt::format("note: {}\n", item);
  if (!binary.log.empty()) out += "log:\n" + binary.log + "\n";
  return out;
}

Json binary_json(const Binary& binary, const std::string& compiler, const Problem& problem,
                 const Config& config) {
  Json entries = Json::array();
  for (const Entry& entry : binary.entries) {
    entries.push_back({{"name", entry.name},
                       {"registers", entry.registers},
                       {"local_bytes", entry.local_bytes},
                       {"static_shared_bytes", entry.static_shared_bytes}});
  }
  return {{"schema", 1},
          {"compiled", true},
          {"problem", problem.label()},
          {"dtype", std::string(name(problem.dtype))},
          {"config", to_json(config)},
          {"format", binary.format},
          {"arch", binary.arch},
          {"compiler", compiler},
          {"bytes", binary.bytes.size()},
          {"seconds", binary.compile_s},
          {"from_cache", binary.from_cache},
          {"sandbox", binary.sandboxed ? "on" : "off"},
          {"entries", std::move(entries)},
          {"forbidden", binary.facts.forbidden},
          {"mutable_globals", binary.facts.mutable_globals},
          {"noted", binary.facts.noted},
          {"log", binary.log}};
}

/// Seconds of each compile more by a compiler that is warm: of a text of its own, so that none is cached.
Result<std::vector<double>> repeated_seconds(device::Compiler& compiler, const Source& source, int repeat) {
  std::vector<double> seconds;
  const std::string run = std::to_string(secret_seed());
  for (int i = 0; i < repeat; ++i) {
    Source again = source;
    again.text += fmt::format("\n// {} {}\n", run, i);
    AK_TRY(outcome, compiler.compile(again));
    if (!outcome.binary) return internal_error("compile {} failed: {}", i + 2, outcome.failure->message);
    seconds.push_back(outcome.binary->compile_s);
  }
  return seconds;
}

}  // namespace

Result<int> run_compile(Session& session, const CompileOptions& options) {
  AK_TRY(made, make_compiler(session, options.arch));
  AK_TRY(loaded, load_kernel(session, options.file, options.target, made.device, Purpose::kCompile));
  AK_TRY(config, kernel::config_with(loaded.file, options.set));
  if (loaded.reference && options.set.empty()) config = harness::reference_config(loaded.file, made.device);
  const Problem& problem = loaded.target.problems.front().problem;
  AK_TRY(invalid, kernel::check_config(loaded.file, config, problem, made.device));
  if (invalid) return usage_error("{} on {}: {}", config.to_string(), problem.label(), invalid->reason);
  AK_TRY(registry, session.registry());
  AK_TRY(family, registry->find(loaded.target.op));
  AK_TRY(source, loaded.reference
                     ? harness::make_reference_source(loaded.file, config, *family, problem, made.device,
                                                      Build::kTimed)
                     : kernel::make_source(loaded.file, config, problem, harness::signature_of(*family),
                                           made.device, Build::kTimed));
  source.arch = options.arch;
  AK_TRY(outcome, made.compiler->compile(source));
  if (!outcome.binary) {
    if (session.options().json) {
      session.print_json(
          {{"schema", 1},
           {"compiled", false},
           {"failure",
            {{"kind", std::string(name(outcome.failure->kind))}, {"message", outcome.failure->message}}}});
    } else {
      session.print(
          fmt::format("failure_kind: {}\n{}\n", name(outcome.failure->kind), outcome.failure->message));
    }
    return 1;
  }
  if (!options.output.empty()) AK_TRY_VOID(write_file_atomic(options.output, outcome.binary->bytes));
  std::string compiler = made.compiler->description();
  Json mix = Json::object();
  if (outcome.binary->format == "cubin") add_instructions(session, *outcome.binary, mix);
  AK_TRY(seconds, repeated_seconds(*made.compiler, source, options.repeat));
  if (session.options().json) {
    Json json = binary_json(*outcome.binary, compiler, problem, config);
    json.update(mix);
    if (!seconds.empty()) json["warm_seconds"] = {{"median", stats::median(seconds)}, {"all", seconds}};
    session.print_json(json);
  } else if (options.ptx) {
    if (outcome.binary->ptx.empty()) return usage_error("--ptx: {} makes no PTX", compiler);
    session.print(outcome.binary->ptx);
  } else {
    session.print(binary_text(*outcome.binary, compiler, problem, config));
    if (!mix.empty()) session.print(fmt::format("instructions: {}\n", instructions_text(mix)));
    if (!seconds.empty()) {
      session.print(
          fmt::format("compiled again: {} times, median {:.3f} s\n", seconds.size(), stats::median(seconds)));
    }
  }
  return 0;
}

}  // namespace ak::cli
