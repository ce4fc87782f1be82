#include "autokernel/base/log.h"

#include <string>

namespace ak {

void Log::write(std::string_view prefix, std::string_view message) {
  // One call, so that lines of several threads do not mix.
  std::string line;
  line.reserve(prefix.size() + message.size() + 1);
  line.append(prefix).append(message);
  if (!line.ends_with('\n')) line += '\n';
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
}

}  // namespace ak
