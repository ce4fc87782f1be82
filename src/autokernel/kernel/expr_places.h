#pragma once
// All expressions of a kernel file with their places, for checks of names.

#include <string>
#include <vector>

#include "autokernel/kernel/kernel_file.h"

namespace ak::kernel {

struct ExprPlace {
  const Expr* expr;
  std::string pointer;  ///< into the front matter
};

/// Valid as long as the file.
std::vector<ExprPlace> all_exprs(const KernelFile& file);

/// An error about a name of an expression, with the caret below it.
tl::unexpected<Error> error_at_name(const KernelFile& file, const ExprPlace& place, std::string_view name,
                                    std::string_view message, std::string_view hint);
/// Column (from 1) of a name in an expression's text; 1 when it is not there.
int column_of_name(std::string_view text, std::string_view name);

}  // namespace ak::kernel
