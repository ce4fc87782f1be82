#pragma once
// A bare template (device code with {name} placeholders) as a kernel file.

#include <string>

#include "autokernel/base/result.h"
#include "autokernel/kernel_generator.h"

namespace ak::api {

/// Puts the front matter that the options describe in front of the template's text.
Result<std::string> kernel_file_of_template(const GeneratorOptions& options);

}  // namespace ak::api
