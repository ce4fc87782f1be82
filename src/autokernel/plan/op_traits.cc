#include "autokernel/plan/op_traits.h"

#include <nlohmann/json.hpp>

#include "autokernel/base/toml.h"
#include "autokernel/embed/aten.h"

namespace ak::plan {

Result<OpTraits> embedded_op_traits() {
  AK_TRY(document, parse_toml(embed::aten()[0].text, {.name = "data/aten.toml", .first_line = 1}));
  OpTraits traits;
  for (const auto& [key, names] : {std::pair{"views", &traits.views}, std::pair{"casts", &traits.casts},
                                   std::pair{"commutative", &traits.commutative}}) {
    const auto list = document.root().find(key);
    AK_CHECK(list != document.root().end() && list->is_array());  // the binary's own file
    for (const Json& name : *list) names->insert(name.get<std::string>());
  }
  return traits;
}

}  // namespace ak::plan
