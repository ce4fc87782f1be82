#include "autokernel/api/worker_binary.h"

#include <unistd.h>

#include <cstdlib>

#include "autokernel/base/file.h"

namespace ak::api {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

WorkerSearch WorkerSearch::of_this_process() {
  WorkerSearch search;
  if (const char* path = std::getenv("AUTOKERNEL_BIN"); path != nullptr && *path != '\0')
    search.from_environment = path;
  if (Result<fs::path> own = executable_path()) search.beside = own->parent_path();
  return search;
}

Result<fs::path> find_worker_binary(const WorkerSearch& search) {
  if (search.from_environment) {
    if (is_program(*search.from_environment)) return fs::path(*search.from_environment);
    return environment_error(
        "cannot start workers: AUTOKERNEL_BIN is `{}`, which is no executable file; set it to the "
        "path of the autokernel binary or unset it",
        *search.from_environment);
  }
  fs::path beside = search.beside / "autokernel";
  if (is_program(beside)) return beside;
  if (Result<fs::path> on_path = find_program("autokernel")) return *on_path;
  const char* path = std::getenv("PATH");
  return environment_error(
      "cannot start workers: found no autokernel binary. Looked at: AUTOKERNEL_BIN (not set); {}; "
      "`autokernel` on PATH ({}). Set AUTOKERNEL_BIN to the binary's path",
      beside.string(), path != nullptr ? path : "not set");
}

}  // namespace ak::api
