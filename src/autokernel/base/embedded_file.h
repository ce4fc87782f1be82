#pragma once
// A text file that was compiled into the binary (cmake/AkEmbed.cmake).

#include <string_view>

namespace ak {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the folder that was embedded, e.g. "rmsnorm/op.toml"
  std::string_view text;
};

}  // namespace ak
