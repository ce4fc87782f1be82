#include "autokernel/cli/code_explanation.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "autokernel/cli/compilers.h"
#include "autokernel/device/cuda/sass.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/launch.h"

namespace ak::cli {
namespace {

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) { return (value + unit - 1) / unit * unit; }

/// Resident blocks a multiprocessor (CUDA programming guide, table of technical specifications).
std::uint32_t most_blocks(std::string_view arch) {
  const int number = cuda_arch_number(arch).value_or(0);
  if (number == 86 || number == 87) return 16;
  if (number == 89 || number >= 120) return 24;
  return 32;
}

/// `ld.global.nc.v4.f32` -> 16.
std::optional<int> access_bytes(std::string_view word) {
  int vector = 1, bits = 0;
  while (!word.empty()) {
    const std::size_t end = std::min(word.find('.'), word.size());
    const std::string_view part = word.substr(0, end);
    word.remove_prefix(std::min(end + 1, word.size()));
    if (part == "v2" || part == "v4" || part == "v8") vector = part[1] - '0';
    const bool typed = part.size() > 1 && std::string_view("busf").find(part[0]) != std::string_view::npos;
    if (typed) std::from_chars(part.data() + 1, part.data() + part.size(), bits);
  }
  if (bits < 8) return std::nullopt;
  return vector * bits / 8;
}

Json widths_json(const std::map<int, int>& widths) {
  Json json = Json::object();
  for (const auto& [bytes, count] : widths) json[std::to_string(bytes)] = count;
  return json;
}

Json entry_json(const LaunchStep& step, const Entry& entry, const DeviceInfo& device) {
  const Occupancy occupancy = occupancy_of(step, entry, device);
  return {{"entry", entry.name},
          {"registers", entry.registers},
          {"local_bytes", entry.local_bytes},
          {"static_shared_bytes", entry.static_shared_bytes},
          {"dynamic_shared_bytes", step.shared_bytes},
          {"grid", step.grid},
          {"block", step.block},
          {"blocks_per_multiprocessor", occupancy.blocks},
          {"warps_per_multiprocessor", occupancy.warps},
          {"occupancy", occupancy.share},
          {"limiter", occupancy.limiter}};
}

std::string pairs_text(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value.dump());
  }
  return text.empty() ? std::string("none") : text;
}

std::vector<std::string> matrix_kinds(const std::vector<std::string>& noted) {
  std::vector<std::string> kinds;
  for (const std::string& note : noted) {
    if (note.find("mma") != std::string::npos) kinds.push_back(note);
  }
  return kinds;
}

}  // namespace

Occupancy occupancy_of(const LaunchStep& step, const Entry& entry, const DeviceInfo& device) {
  const std::uint32_t warp = std::max(1U, device.warp_size);
  const std::uint32_t threads = step.block[0] * step.block[1] * step.block[2];
  const std::uint32_t warps = std::max(1U, (threads + warp - 1) / warp);
  const std::uint32_t most_warps = device.max_threads_per_multiprocessor / warp;
  const std::uint32_t warp_registers = round_up(entry.registers * warp, 256);
  const std::uint32_t shared = round_up(entry.static_shared_bytes + step.shared_bytes + 1024, 128);
  const std::pair<std::uint32_t, const char*> limits[] = {
      {most_warps / warps, "threads"},
      {warp_registers == 0 ? most_warps : device.registers_per_multiprocessor / warp_registers / warps,
       "registers"},
      {device.shared_bytes_per_multiprocessor / shared, "shared memory"},
      {most_blocks(device.arch), "blocks"}};
  Occupancy result{UINT32_MAX, 0, 0, {}};
  for (const auto& [blocks, limiter] : limits) {
    if (blocks >= result.blocks) continue;
    result.blocks = blocks;
    result.limiter = limiter;
  }
  result.warps = result.blocks * warps;
  result.share = most_warps == 0 ? 0 : static_cast<double>(result.warps) / most_warps;
  return result;
}

AccessWidths access_widths(std::string_view ptx) {
  AccessWidths widths;
  while (!ptx.empty()) {
    const std::string_view line = ptx.substr(0, std::min(ptx.find('\n'), ptx.size()));
    ptx.remove_prefix(std::min(line.size() + 1, ptx.size()));
    for (const auto& [prefix, into] :
         {std::pair{"ld.global", &widths.loads}, {"st.global", &widths.stores}}) {
      const std::size_t at = line.find(prefix);
      if (at == std::string_view::npos) continue;
      const std::string_view word = line.substr(at, line.find_first_of(" \t", at) - at);
      if (auto bytes = access_bytes(word)) ++(*into)[*bytes];
    }
  }
  return widths;
}

Result<Json> explain_code(Session& session, const kernel::KernelFile& file, const Config& config,
                          const op::Family& family, const Problem& problem, const DeviceInfo& device) {
  if (device.kind != "cuda") {
    return usage_error("--explain: the device {} has no registers or occupancy to tell of; use --device cuda",
                       device.name);
  }
  AK_TRY(compiler, make_nvrtc(session.options().unsafe_no_sandbox));
  AK_TRY(source,
         kernel::make_source(file, config, problem, harness::signature_of(family), device, Build::kTimed));
  AK_TRY(outcome, compiler->compile(source));
  if (!outcome.binary) return internal_error("{} no longer compiles", file.name);
  AK_TRY(plan, kernel::make_plan(file, config, problem, harness::signature_of(family), device));
  Json entries = Json::array();
  for (const LaunchStep& step : plan.steps) {
    for (const Entry& entry : outcome.binary->entries) {
      if (entry.name == step.entry) entries.push_back(entry_json(step, entry, device));
    }
  }
  const AccessWidths widths = access_widths(outcome.binary->ptx);
  Json json = {{"size", problem.label()},
               {"launches", std::move(entries)},
               {"matrix_instructions", matrix_kinds(outcome.binary->facts.noted)},
               {"global_load_bytes", widths_json(widths.loads)},
               {"global_store_bytes", widths_json(widths.stores)}};
  add_instructions(session, *outcome.binary, json);
  return json;
}

void add_instructions(Session& session, const Binary& binary, Json& json) {
  json["instructions"] = Json::object();
  const auto settings = session.settings({});
  const std::filesystem::path tool = cuda::find_nvdisasm(
      cuda::NvrtcSearch::from_environment(), settings ? settings->get_text("python") : std::string());
  if (tool.empty()) {
    json["instructions_missing"] = "nvdisasm was not found: it comes with the CUDA toolkit and with Triton";
    return;
  }
  const auto mix = cuda::instruction_mix(tool, binary);
  if (mix) {
    json["instructions"] = *mix;
  } else {
    json["instructions_missing"] = mix.error().message;
  }
}

std::string instructions_text(const Json& json) {
  const auto missing = json.find("instructions_missing");
  if (missing != json.end()) return missing->get<std::string>();
  return pairs_text(json["instructions"]);
}

Result<Json> explain(Session& session, const kernel::KernelFile& file, const Config& config,
                     const op::Family& family, const Verdict& verdict) {
  Json list = Json::array();
  for (const Timing& timing : verdict.timings) {
    AK_TRY(json, explain_code(session, file, config, family, timing.problem, verdict.device));
    json["compulsory_bytes"] = timing.gbps * timing.time.median_us * 1e3;
    json["achieved_gbps"] = timing.gbps;
    json["peak_gbps"] = timing.peak_gbps;
    json["achieved_tflops"] = timing.tflops;
    json["peak_tflops"] = timing.peak_tflops;
    list.push_back(std::move(json));
  }
  return list;
}

std::string explain_text(const Json& explained) {
  std::string out;
  for (const Json& each : explained) {
    out += fmt::format("\nexplain: {}\n", each["size"].get<std::string>());
    for (const Json& launch : each["launches"]) {
      out += fmt::format(
          "  {}: {} registers, {} local bytes, {} + {} bytes of shared memory a block\n"
          "    {} blocks, {} warps a multiprocessor ({:.0f} % occupancy, limited by {})\n",
          launch["entry"].get<std::string>(), launch["registers"].dump(), launch["local_bytes"].dump(),
          launch["static_shared_bytes"].dump(), launch["dynamic_shared_bytes"].dump(),
          launch["blocks_per_multiprocessor"].dump(), launch["warps_per_multiprocessor"].dump(),
          100 * launch["occupancy"].get<double>(), launch["limiter"].get<std::string>());
    }
    std::string kinds;
    for (const Json& kind : each["matrix_instructions"])
      kinds += (kinds.empty() ? "" : ", ") + kind.get<std::string>();
    out += fmt::format("  matrix instructions: {}\n", kinds.empty() ? "none" : kinds);
    out += fmt::format("  global loads by bytes: {}\n", pairs_text(each["global_load_bytes"]));
    out += fmt::format("  global stores by bytes: {}\n", pairs_text(each["global_store_bytes"]));
    out += fmt::format("  instructions: {}\n", instructions_text(each));
    if (!each.contains("achieved_gbps")) continue;
    out += fmt::format("  compulsory bytes: {:.0f}, at {:.0f} of {:.0f} GB/s; {:.4g} of {:.4g} TFLOP/s\n",
                       each["compulsory_bytes"].get<double>(), each["achieved_gbps"].get<double>(),
                       each["peak_gbps"].get<double>(), each["achieved_tflops"].get<double>(),
                       each["peak_tflops"].get<double>());
  }
  return out;
}

}  // namespace ak::cli
