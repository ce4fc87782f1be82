#include "autokernel/worker/client.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>

namespace ak::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartDeadline{90'000};
constexpr milliseconds kGrace{15'000};  ///< the supervisor's own deadline comes first

std::string tail_of_errors(int fd) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  char chunk[2048];
  ssize_t count = ::read(fd, chunk, sizeof chunk);
  return count > 0 ? ": " + std::string(chunk, static_cast<std::size_t>(count)) : std::string();
}

}  // namespace

Result<std::unique_ptr<Client>> Client::start(const std::vector<std::string>& command,
                                              const std::vector<FamilyFiles>& families) {
  ProcessSpec spec;
  spec.argv = command;
  AK_TRY(child, ChildProcess::start(spec));
  std::unique_ptr<Client> client(new Client(std::move(child)));
  AK_TRY(reply, client->call(hello_request(families), "hello", kStartDeadline));
  AK_TRY(hello, hello_from_json(reply));
  if (hello.version != kProtocolVersion) {
    return environment_error("the worker speaks protocol {}, this parent {}: use the same autokernel on both sides",
                             hello.version, kProtocolVersion);
  }
  client->hello_ = std::move(hello);
  return client;
}

Result<Json> Client::call(Json request, std::string_view expected, milliseconds deadline) {
  std::vector<std::string> fresh = take_texts(request, sent_);
  for (const std::string& hash : fresh) {
    AK_TRY_VOID(write_message(child_.in(), {{"type", "text"}, {"hash", hash}, {"text", sent_.at(hash)}}));
  }
  AK_TRY_VOID(write_message(child_.in(), request));
  AK_TRY(read, read_message(child_.out(), reader_, deadline));
  if (read.end == ReadEnd::kTimeout) {
    child_.kill_group();
    broken_ = true;
    return environment_error("the worker gave no answer within {} s", deadline.count() / 1000);
  }
  if (read.end == ReadEnd::kEof) {
    broken_ = true;
    return environment_error("the worker ended unexpectedly{}", tail_of_errors(child_.err()));
  }
  AK_TRY(reply, parse_json(read.message, "the worker's answer"));
  AK_TRY(fields, JsonReader::object(reply, "answer"));
  AK_TRY(type, fields.get_string("type"));
  if (type != expected) return tl::unexpected(error_from_message(reply, expected));
  return reply;
}

Result<CompileAnswer> Client::compile(const Source& source, milliseconds deadline) {
  Json request = {{"type", "compile"}, {"source", ak::to_json(source)}, {"deadline_s", deadline.count() / 1000.0}};
  AK_TRY(reply, call(std::move(request), "compiled", deadline + kGrace));
  AK_TRY(fields, JsonReader::object(reply, "compiled"));
  AK_TRY(seconds, fields.get_double("seconds"));
  CompileAnswer answer{seconds, std::nullopt};
  AK_TRY(failure, fields.get("failure"));
  if (!failure->is_null()) {
    AK_TRY(decoded, failure_from_json(*failure, "compiled.failure"));
    answer.failure = std::move(decoded);
  }
  return answer;
}

Result<Verdict> Client::judge(const harness::Job& job, Freshness freshness, milliseconds deadline) {
  if (freshness == Freshness::kFresh) AK_TRY_VOID(write_message(child_.in(), {{"type", "fresh"}}));
  Json request = {{"type", "judge"}, {"job", harness::to_json(job)}, {"deadline_s", deadline.count() / 1000.0}};
  AK_TRY(reply, call(std::move(request), "verdict", deadline + kGrace));
  AK_TRY(fields, JsonReader::object(reply, "answer"));
  AK_TRY(verdict, fields.get_object("verdict"));
  return verdict_from_json(*verdict, "verdict");
}

}  // namespace ak::worker
