#include "autokernel/torch/interpreter.h"

#include <nlohmann/json.hpp>

#include "autokernel/base/json.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/core/field_reader.h"
#include "autokernel/embed/python_bridge.h"
#include "autokernel/torch/bridge.h"

namespace ak::torch {

std::string_view bridge_file(std::string_view path) {
  for (const EmbeddedFile& file : embed::python_bridge()) {
    if (file.path == path) return file.text;
  }
  AK_CHECK(false);
  return "";
}

std::string last_bytes(std::string_view text, std::size_t count) {
  if (text.size() <= count) return std::string(text);
  return fmt::format("...{}", text.substr(text.size() - count));
}

Result<Interpreter> describe_interpreter(const std::string& python, std::chrono::seconds deadline) {
  const std::string script(bridge_file("autokernel/interpreter.py"));
  AK_TRY(done, run_process({.argv = {python, "-c", script}, .deadline = deadline}));
  if (done.timed_out)
    return environment_error("{} did not import PyTorch within {} s", python, deadline.count());
  // What PyTorch prints while it is imported comes first.
  const std::string_view out = done.out;
  const std::size_t begin = out.rfind("{\"executable\"");
  const Result<Json> json = parse_json(begin == out.npos ? "" : out.substr(begin), "the answer of " + python);
  if (!json) {
    return environment_error("{} ended without an answer ({}): {}", python,
                             ExitStatus{done.exit_code, done.signal}.describe(), last_bytes(done.err, 500));
  }
  Interpreter found;
  AK_TRY(in, FieldReader::object(*json, "the answer of " + python));
  in.read("executable", found.executable);
  in.read("version", found.version);
  in.read("torch", found.torch);
  in.read("why_not", found.why_not);
  in.read("cuda", found.cuda);
  in.read("gpu", found.gpu);
  return in.finish(std::move(found));
}

}  // namespace ak::torch
