#include "autokernel/kernel/expr_places.h"

#include "autokernel/kernel/front_matter.h"
#include "autokernel/kernel/table_reader.h"

namespace ak::kernel {
namespace {

void add(std::vector<ExprPlace>& places, const std::vector<Expr>& exprs, const std::string& pointer) {
  for (std::size_t i = 0; i < exprs.size(); ++i) places.push_back({&exprs[i], child(pointer, i)});
}

}  // namespace

std::vector<ExprPlace> all_exprs(const KernelFile& file) {
  std::vector<ExprPlace> places;
  add(places, file.where, "/constraints/where");
  add(places, file.needs, "/constraints/needs");
  for (std::size_t i = 0; i < file.launches.size(); ++i) {
    const LaunchSpec& launch = file.launches[i];
    const std::string pointer = child("/launch", i);
    add(places, launch.grid, pointer + "/grid");
    add(places, launch.block, pointer + "/block");
    add(places, launch.cluster, pointer + "/cluster");
    if (launch.shared_bytes) places.push_back({&*launch.shared_bytes, pointer + "/shared_bytes"});
    if (launch.when) places.push_back({&*launch.when, pointer + "/when"});
  }
  for (std::size_t i = 0; i < file.workspaces.size(); ++i) {
    places.push_back({&file.workspaces[i].bytes, child("/workspace", i) + "/bytes"});
  }
  for (std::size_t i = 0; i < file.tensor_maps.size(); ++i) {
    add(places, file.tensor_maps[i].box, child("/tensormap", i) + "/box");
  }
  if (file.max_registers) places.push_back({&*file.max_registers, "/max_registers"});
  return places;
}

int column_of_name(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || !is_identifier_part(text[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end == text.size() || !is_identifier_part(text[end]))) return static_cast<int>(at) + 1;
  }
  return 1;
}

tl::unexpected<Error> error_at_name(const KernelFile& file, const ExprPlace& place, std::string_view name,
                                    std::string_view message, std::string_view hint) {
  return FileText{file.front_matter, file.text, file.name}.error_in_string(
      place.pointer, column_of_name(place.expr->text(), name), message, hint);
}

}  // namespace ak::kernel
