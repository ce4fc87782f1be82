#include "autokernel/kernel/rules.h"

#include <algorithm>
#include <array>

#include "autokernel/kernel/spelling.h"

namespace ak::kernel {
namespace {

constexpr std::int64_t kMaxCluster = 8;    // portable size (CUDA C++ Programming Guide)
constexpr std::int64_t kMaxBoxSize = 256;  // cuTensorMapEncodeTiled
constexpr std::int64_t kMinRegisters = 16, kMaxRegisters = 255;
constexpr char kAxes[] = "xyz";

using Values = std::span<const std::int64_t>;

/// Long expressions may be written in several lines.
std::string text_of(const Expr& expr) {
  std::string text;
  for (const char c : expr.text()) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank) text += c;
    if (blank && !text.empty() && text.back() != ' ') text += ' ';
  }
  return text;
}

std::string texts_of(const std::vector<Expr>& exprs) {
  std::vector<std::string> texts;
  for (const Expr& expr : exprs) texts.push_back(text_of(expr));
  return "[" + joined(texts) + "]";
}

std::vector<const Expr*> pointers(const std::vector<Expr>& exprs) {
  std::vector<const Expr*> result;
  for (const Expr& expr : exprs) result.push_back(&expr);
  return result;
}

std::string product_text(Values values) {
  std::string text;
  for (const std::int64_t value : values) text += fmt::format("{}{}", text.empty() ? "" : " x ", value);
  return text;
}

/// Saturates: limits are far below.
std::int64_t product(Values values) {
  std::int64_t result = 1;
  for (const std::int64_t value : values) {
    if (__builtin_mul_overflow(result, value, &result)) return INT64_MAX;
  }
  return result;
}

std::optional<std::string> judge_axes(std::string_view what, Values values,
                                      const std::array<std::uint32_t, 3>& limits) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 1) {
      return fmt::format("{} of {} is empty: its size in {} must be 1 or more", what, product_text(values),
                         kAxes[i]);
    }
    if (values[i] > limits[i]) {
      return fmt::format("{} size of {} in {} exceeds the device's limit of {}", what, values[i], kAxes[i],
                         limits[i]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> judge_block(Values values, const DeviceInfo& device) {
  const bool positive = std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v > 0; });
  const std::int64_t threads = product(values);
  // First, since it is what a reader of "block = [64, 64]" has to know.
  if (positive && threads > device.max_threads_per_block) {
    const std::string sum = values.size() == 1 ? "" : fmt::format("{} = ", product_text(values));
    return fmt::format("block of {}{} threads exceeds the device's limit of {}", sum, threads,
                       device.max_threads_per_block);
  }
  return judge_axes("block", values, device.max_block);
}

std::optional<std::string> judge_cluster(Values values, std::size_t rank, const DeviceInfo& device) {
  const Values cluster = values.first(rank), grid = values.subspan(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (cluster[i] < 1) return fmt::format("cluster of {} is empty", product_text(cluster));
  }
  const std::int64_t blocks = product(cluster);
  if (blocks == 1) return std::nullopt;
  if (!device.clusters) return fmt::format("cluster of {} blocks: the device has no clusters", blocks);
  if (blocks > kMaxCluster) {
    return fmt::format("cluster of {} = {} blocks exceeds the limit of {}", product_text(cluster), blocks,
                       kMaxCluster);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = i < grid.size() ? grid[i] : 1;
    if (size % cluster[i] != 0) {
      return fmt::format("grid size of {} in {} is no multiple of the cluster's {}", size, kAxes[i],
                         cluster[i]);
    }
  }
  return std::nullopt;
}

/// A cooperative launch needs all its blocks resident; registers may lower this bound further.
std::optional<std::string> judge_resident(Values values, std::size_t grid_rank, std::size_t block_rank,
                                          const DeviceInfo& device) {
  if (device.kind == "cpu") return std::nullopt;  // blocks are fibers: all are resident
  const std::int64_t blocks = product(values.first(grid_rank));
  const std::int64_t threads = std::max<std::int64_t>(1, product(values.subspan(grid_rank, block_rank)));
  const std::int64_t shared = values.size() > grid_rank + block_rank ? values.back() : 0;
  std::int64_t each = device.max_threads_per_multiprocessor / threads;
  if (shared > 0) each = std::min<std::int64_t>(each, device.shared_bytes_per_multiprocessor / shared);
  const std::int64_t limit = each * device.multiprocessors;
  if (blocks <= limit) return std::nullopt;
  return fmt::format("cooperative launch of {} blocks: at most {} are resident at once", blocks, limit);
}

std::optional<std::string> judge_shared(std::int64_t bytes, const DeviceInfo& device) {
  if (bytes < 0) return fmt::format("shared memory of {} bytes is negative", bytes);
  if (bytes <= device.dynamic_shared_bytes) return std::nullopt;
  return fmt::format("{} bytes of shared memory exceed the device's limit of {}", bytes,
                     device.dynamic_shared_bytes);
}

std::optional<std::string> judge_workspace(const std::string& name, std::int64_t bytes,
                                           const DeviceInfo& device) {
  if (bytes < 0) return fmt::format("workspace {} of {} bytes is negative", name, bytes);
  if (device.memory_bytes == 0 || static_cast<std::uint64_t>(bytes) <= device.memory_bytes)
    return std::nullopt;
  return fmt::format("workspace {} of {} bytes exceeds the device's memory of {}", name, bytes,
                     device.memory_bytes);
}

std::optional<std::string> judge_box(const std::string& name, Values values, const DeviceInfo& device) {
  if (!device.tensor_maps) return fmt::format("tensor map {}: the device has no tensor maps", name);
  for (const std::int64_t value : values) {
    if (value < 1 || value > kMaxBoxSize) {
      return fmt::format("tensor map {}: a box of {} has a size outside 1 to {}", name, product_text(values),
                         kMaxBoxSize);
    }
  }
  return std::nullopt;
}

void append(std::vector<const Expr*>& to, const std::vector<Expr>& exprs) {
  for (const Expr& expr : exprs) to.push_back(&expr);
}

void add_conditions(std::vector<Rule>& rules, const std::vector<Expr>& exprs, Rule::Kind kind,
                    std::string_view word) {
  for (const Expr& expr : exprs) {
    rules.push_back({.kind = kind,
                     .cause = fmt::format("{}: {}", word, text_of(expr)),
                     .exprs = {&expr},
                     .subject = text_of(expr)});
  }
}

void add_launch(std::vector<Rule>& rules, const LaunchSpec& launch, const std::string& of) {
  rules.push_back({.kind = Rule::Kind::kBlock,
                   .cause = fmt::format("block{}: {}", of, texts_of(launch.block)),
                   .exprs = pointers(launch.block),
                   .subject = {}});
  rules.push_back({.kind = Rule::Kind::kGrid,
                   .cause = fmt::format("grid{}: {}", of, texts_of(launch.grid)),
                   .exprs = pointers(launch.grid),
                   .subject = {}});
  if (launch.shared_bytes) {
    rules.push_back({.kind = Rule::Kind::kShared,
                     .cause = fmt::format("shared_bytes{}: {}", of, text_of(*launch.shared_bytes)),
                     .exprs = {&*launch.shared_bytes},
                     .subject = {}});
  }
  if (!launch.cluster.empty()) {
    Rule rule{.kind = Rule::Kind::kCluster,
              .cause = fmt::format("cluster{}: {}", of, texts_of(launch.cluster)),
              .exprs = pointers(launch.cluster),
              .subject = {},
              .first_group = launch.cluster.size()};
    append(rule.exprs, launch.grid);
    rules.push_back(std::move(rule));
  }
  if (launch.cooperative) {
    Rule rule{.kind = Rule::Kind::kResident,
              .cause = fmt::format("cooperative grid{}: {}", of, texts_of(launch.grid)),
              .exprs = pointers(launch.grid),
              .subject = {},
              .first_group = launch.grid.size(),
              .second_group = launch.block.size()};
    append(rule.exprs, launch.block);
    if (launch.shared_bytes) rule.exprs.push_back(&*launch.shared_bytes);
    rules.push_back(std::move(rule));
  }
}

}  // namespace

std::vector<Rule> rules_of(const KernelFile& file) {
  std::vector<Rule> rules;
  add_conditions(rules, file.where, Rule::Kind::kWhere, "where");
  add_conditions(rules, file.needs, Rule::Kind::kNeeds, "needs");
  for (std::size_t i = 0; i < file.launches.size(); ++i) {
    const LaunchSpec& launch = file.launches[i];
    add_launch(rules, launch,
               file.launches.size() > 1 ? fmt::format(" of launch {} ({})", i + 1, launch.entry) : "");
  }
  for (const WorkspaceSpec& workspace : file.workspaces) {
    rules.push_back({.kind = Rule::Kind::kWorkspace,
                     .cause = fmt::format("workspace {}: {}", workspace.name, text_of(workspace.bytes)),
                     .exprs = {&workspace.bytes},
                     .subject = workspace.name});
  }
  for (const TensorMapSpec& map : file.tensor_maps) {
    rules.push_back({.kind = Rule::Kind::kBox,
                     .cause = fmt::format("tensor map {}: {}", map.name, texts_of(map.box)),
                     .exprs = pointers(map.box),
                     .subject = map.name});
  }
  if (file.max_registers) {
    rules.push_back({.kind = Rule::Kind::kRegisters,
                     .cause = fmt::format("max_registers: {}", text_of(*file.max_registers)),
                     .exprs = {&*file.max_registers},
                     .subject = {}});
  }
  return rules;
}

std::optional<std::string> judge(const Rule& rule, Values values, const DeviceInfo& device) {
  switch (rule.kind) {
    case Rule::Kind::kWhere:
    case Rule::Kind::kNeeds:
      if (values[0] != 0) return std::nullopt;
      return fmt::format("{} does not hold: {}", rule.kind == Rule::Kind::kWhere ? "where" : "needs",
                         rule.subject);
    case Rule::Kind::kBlock:
      return judge_block(values, device);
    case Rule::Kind::kGrid:
      return judge_axes("grid", values, device.max_grid);
    case Rule::Kind::kCluster:
      return judge_cluster(values, rule.first_group, device);
    case Rule::Kind::kShared:
      return judge_shared(values[0], device);
    case Rule::Kind::kResident:
      return judge_resident(values, rule.first_group, rule.second_group, device);
    case Rule::Kind::kWorkspace:
      return judge_workspace(rule.subject, values[0], device);
    case Rule::Kind::kBox:
      return judge_box(rule.subject, values, device);
    case Rule::Kind::kRegisters:
      if (values[0] >= kMinRegisters && values[0] <= kMaxRegisters) return std::nullopt;
      return fmt::format("max_registers of {} is outside {} to {}", values[0], kMinRegisters, kMaxRegisters);
  }
  AK_CHECK(false);
  return std::nullopt;
}

std::optional<std::string> unsupported(const KernelFile& file, const Problem& problem,
                                       const DeviceInfo& device) {
  if (!file.supports(problem.dtype)) {
    std::vector<std::string> names;
    for (const DType dtype : file.dtypes) names.emplace_back(name(dtype));
    return fmt::format("dtype {} is not among the file's: {}", name(problem.dtype), joined(names));
  }
  if (!file.supports_arch(device.arch)) {
    return fmt::format("the file is for {}, the device is {}", joined(file.arch), device.arch);
  }
  for (const std::string& tensor : problem.has) {
    const bool taken = std::any_of(file.launches.begin(), file.launches.end(), [&](const LaunchSpec& launch) {
      return std::find(launch.args.begin(), launch.args.end(), tensor) != launch.args.end();
    });
    if (!taken) return fmt::format("the kernel takes no `{}`: none of its launches passes it", tensor);
  }
  return std::nullopt;
}

}  // namespace ak::kernel
