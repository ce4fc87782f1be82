// Op families: the list, and all of one of them.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "autokernel/base/text_table.h"
#include "autokernel/cli/commands.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::cli {
namespace {

Json dtypes_json(const std::vector<DType>& dtypes) {
  Json list = Json::array();
  for (const DType dtype : dtypes) list.push_back(std::string(name(dtype)));
  return list;
}

/// Of each kernel file: what `extract` chooses by.
Result<Json> kernels_json(const op::Family& family) {
  Json list = Json::array();
  for (const op::KernelSource& kernel : family.kernels) {
    AK_TRY(file, kernel::parse(kernel.text, kernel.name));
    list.push_back({{"name", kernel.name},
                    {"about", file.about},
                    {"dtypes", dtypes_json(file.dtypes)},
                    {"arch", file.arch}});
  }
  return list;
}

Json flags_json(const op::Family& family) {
  Json list = Json::array();
  for (const op::FlagSpec& flag : family.flags) {
    list.push_back({{"name", flag.name}, {"values", flag.values}, {"default", flag.values.front()}});
    if (flag.range) list.back()["range"] = {flag.range->first, flag.range->second};
  }
  return list;
}

Json scalars_json(const op::Family& family) {
  Json list = Json::array();
  for (const op::ScalarSpec& scalar : family.scalars) {
    list.push_back({{"name", scalar.name},
                    {"type", scalar.type == op::ScalarSpec::Type::kInt ? "int" : "float"},
                    {"default", scalar.default_value}});
    if (!scalar.default_rsqrt) continue;
    list.back()["default"] = nullptr;
    list.back()["default_rsqrt"] = scalar.default_rsqrt->text();
  }
  return list;
}

Json tensors_json(const op::Family& family) {
  constexpr const char* kRoles[] = {"in", "out", "inout"};
  Json list = Json::array();
  for (const op::TensorSpec& tensor : family.tensors) {
    std::vector<std::string> shape;
    for (const Expr& extent : tensor.shape) shape.push_back(extent.text());
    list.push_back({{"name", tensor.name},
                    {"role", kRoles[static_cast<int>(tensor.role)]},
                    {"shape", std::move(shape)},
                    {"dtype", tensor.dtype ? Json(std::string(name(*tensor.dtype))) : Json(nullptr)},
                    {"optional", tensor.optional},
                    {"with", tensor.with}});
  }
  return list;
}

Json sizes_json(const op::Family& family) {
  Json sets = Json::object();
  for (const auto& [set, sizes] : family.sizes) {
    sets[set] = Json::array();
    for (const op::Size& size : sizes) {
      sets[set].push_back(
          {{"dims", size.dims}, {"flags", size.flags}, {"has", size.has}, {"scalars", size.scalars}});
    }
  }
  return sets;
}

Json family_json(const op::Family& family, Json kernels) {
  return {{"schema", 1},
          {"name", family.name},
          {"about", family.about},
          {"hash", family.hash},
          {"dims", family.dims},
          {"dtypes", dtypes_json(family.dtypes)},
          {"flops", family.flops.text()},
          {"bytes", family.bytes.text()},
          {"flags", flags_json(family)},
          {"scalars", scalars_json(family)},
          {"tensors", tensors_json(family)},
          {"sizes", sizes_json(family)},
          {"kernels", std::move(kernels)}};
}

std::string size_label(const op::Family& family, const op::Size& size) {
  std::string label;
  for (const std::string& dim : family.dims) {
    auto it = size.dims.find(dim);
    if (it != size.dims.end()) label += fmt::format("{}{}={}", label.empty() ? "" : ",", dim, it->second);
  }
  for (const auto& [flag, value] : size.flags) label += fmt::format(",{}={}", flag, value);
  for (const std::string& tensor : size.has) label += "," + tensor;
  return label;
}

Result<int> show_family(Session& session, const op::Family& family) {
  AK_TRY(kernels, kernels_json(family));
  if (session.options().json) {
    session.print_json(family_json(family, std::move(kernels)));
    return 0;
  }
  std::string out =
      fmt::format("op: {}\nabout: {}\ndims: {}\nflops: {}\nbytes: {}\n", family.name, family.about,
                  fmt::join(family.dims, " "), family.flops.text(), family.bytes.text());
  for (const op::FlagSpec& flag : family.flags) {
    out += fmt::format("flag: {} in {{{}}}{}, default {}\n", flag.name, fmt::join(flag.values, ", "),
                       flag.range ? fmt::format(" or {} to {}", flag.range->first, flag.range->second) : "",
                       flag.values.front());
  }
  for (const op::ScalarSpec& scalar : family.scalars) {
    out += fmt::format("scalar: {} ({}), default {:g}\n", scalar.name,
                       scalar.type == op::ScalarSpec::Type::kInt ? "int" : "float", scalar.default_value);
  }
  for (const op::TensorSpec& tensor : family.tensors) {
    std::string shape;
    for (const Expr& extent : tensor.shape) shape += (shape.empty() ? "" : ", ") + extent.text();
    out += fmt::format("tensor: {} [{}]{}{}\n", tensor.name, shape,
                       tensor.role == op::TensorRole::kIn ? "" : " (output)",
                       tensor.optional ? " (optional)" : "");
  }
  for (const auto& [set, sizes] : family.sizes) {
    for (const op::Size& size : sizes) out += fmt::format("size: {} {}\n", set, size_label(family, size));
  }
  for (const Json& kernel : kernels) {
    const auto arch = kernel["arch"].get<std::vector<std::string>>();
    out += fmt::format("kernel: {}{}\n", kernel["name"].get<std::string>(),
                       arch.empty() ? "" : fmt::format(" ({} only)", fmt::join(arch, ", ")));
  }
  session.print(out);
  return 0;
}

}  // namespace

Result<int> run_ops(Session& session, const OpsOptions& options) {
  AK_TRY(registry, session.registry());
  if (!options.name.empty()) {
    AK_TRY(family, registry->find(options.name));
    return show_family(session, *family);
  }
  if (session.options().json) {
    Json list = Json::array();
    for (const op::Family& family : registry->families()) {
      list.push_back({{"name", family.name},
                      {"about", family.about},
                      {"dims", family.dims},
                      {"dtypes", dtypes_json(family.dtypes)},
                      {"kernels", family.kernels.size()}});
    }
    session.print_json({{"schema", 1}, {"ops", std::move(list)}});
    return 0;
  }
  TextTable table({"op", "kernels", "about"}, {TextTable::Align::kLeft, TextTable::Align::kRight});
  for (const op::Family& family : registry->families()) {
    table.add_row({family.name, std::to_string(family.kernels.size()), family.about});
  }
  session.print(table.plain());
  return 0;
}

}  // namespace ak::cli
