#include "autokernel/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace ak {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "autokernel: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace ak
