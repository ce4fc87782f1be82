// A runner without a device, for tests of what stands above one: says hello, then misbehaves as its argument
// says on a request, or answers with its process id. `fake_runner --supervise MODE` is a whole worker with
// that runner.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "autokernel/core/verdict.h"
#include "autokernel/worker/frame.h"
#include "autokernel/worker/protocol.h"
#include "autokernel/worker/supervisor.h"

namespace {

using ak::Json;
namespace worker = ak::worker;

void write_raw(const std::string& bytes) {
  if (::write(STDOUT_FILENO, bytes.data(), bytes.size()) < 0) std::_Exit(9);
}

void write_payload(const std::string& payload) {
  std::string frame(worker::kMagic);
  for (int shift = 0; shift < 32; shift += 8)
    frame.push_back(static_cast<char>((payload.size() >> shift) & 0xff));
  write_raw(frame + payload);
}

bool is_type(const Json& request, const char* type) {
  return request.is_object() && request.contains("type") && request["type"] == type;
}

void hello(const std::string& mode) {
  if (mode == "hello-exit") std::_Exit(7);
  if (mode == "hello-list") return write_payload("[]");
  if (mode == "hello-number") return write_payload(R"({"type":5})");
  if (mode == "hello-error") {
    (void)worker::write_message(STDOUT_FILENO,
                                worker::error_message({ak::ErrorCode::kEnvironment, "no such device here"}));
    return;
  }
  if (mode == "banner") write_raw("Last login: today\nAKF");
  const int version = mode == "version" ? worker::kProtocolVersion + 1 : worker::kProtocolVersion;
  (void)worker::write_message(STDOUT_FILENO, worker::to_json(worker::Hello{version, "fake", "none", {}}));
}

void answer(const Json& request, const std::string& mode) {
  if (mode == "segfault") std::raise(SIGSEGV);
  if (mode.starts_with("once:")) {  // dies of the first request that finds no such file
    if (std::FILE* made = std::fopen(mode.c_str() + 5, "wx"); made != nullptr) std::raise(SIGKILL);
  }
  const bool once = mode.starts_with("kill-once:");
  if (mode == "kill-supervisor" || (once && std::fopen(mode.c_str() + 10, "wx") != nullptr)) {
    ::kill(::getppid(), SIGKILL);
    ::pause();
  }
  if (mode == "exit") std::_Exit(5);
  if (mode == "hang") {
    while (true) ::pause();
  }
  if (mode == "rubbish") {
    while (true) write_raw("rubbish without a magic word. ");
  }
  if (mode == "oversized") write_raw("AKF1\xff\xff\xff\xff");
  if (mode == "no-json") return write_payload("{nothing");
  if (mode == "list") return write_payload("[1, 2]");
  if (mode == "usable-text") return write_payload(R"({"type":"verdict","usable":"yes"})");
  if (mode == "noisy") {
    const std::string line(1023, 'n');
    for (int i = 0; i < 512; ++i) std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (is_type(request, "compile")) {
    if (mode.starts_with("no-end-of:") && request.dump().find(mode.substr(10)) != std::string::npos)
      ::pause();
    Json reply = {{"type", "compiled"}, {"seconds", 0.5}, {"failure", nullptr}};
    if (mode == "no-compile") {
      reply["failure"] =
          ak::to_json(ak::Failure{ak::Stage::kCompile, ak::FailureKind::kCompile, "compile", "no"});
    }
    (void)worker::write_message(STDOUT_FILENO, reply);
    return;
  }
  ak::Verdict verdict;
  verdict.passed = true;
  verdict.flags = {std::to_string(::getpid()), request.dump()};
  (void)worker::write_message(
      STDOUT_FILENO,
      {{"type", "verdict"}, {"verdict", ak::to_json(verdict)}, {"usable", mode != "unusable"}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--supervise") {
    const worker::SupervisorOptions options{{"/proc/self/exe", argc > 2 ? argv[2] : ""},
                                            std::chrono::seconds(20)};
    return worker::run_supervisor(options, STDIN_FILENO, STDOUT_FILENO);
  }
  worker::FrameReader reader;
  while (true) {
    auto read = worker::read_message(STDIN_FILENO, reader, std::nullopt);
    if (!read || read->end != worker::ReadEnd::kMessage) return 0;
    Json request = Json::parse(read->message);
    if (is_type(request, "hello")) {
      hello(mode);
    } else {
      answer(request, mode);
    }
  }
}
