#include "autokernel/worker/client.h"

#include <fcntl.h>

#include <cctype>
#include <nlohmann/json.hpp>

namespace ak::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartDeadline{90'000};
constexpr milliseconds kGrace{15'000};  ///< the supervisor's own deadline comes first
constexpr std::size_t kKeptErrors = 2048;

}  // namespace

Result<std::unique_ptr<Client>> Client::start(const std::vector<std::string>& command,
                                              const std::vector<FamilyFiles>& families, Role role,
                                              int stop_watch) {
  ProcessSpec spec;
  spec.argv = command;
  AK_TRY(child, ChildProcess::start(spec));
  ::fcntl(child.err(), F_SETFL, O_NONBLOCK);
  std::unique_ptr<Client> client(new Client(std::move(child), stop_watch));
  Result<Json> greeting = client->call(hello_request(families, role), "hello", kStartDeadline);
  if (!greeting) {
    std::string words;
    for (const std::string& word : command) words += (words.empty() ? "" : " ") + word;
    return tl::unexpected(std::move(greeting).error().with_context(fmt::format("worker `{}`", words)));
  }
  const Json& reply = *greeting;
  AK_TRY(hello, hello_from_json(reply));
  if (hello.version != kProtocolVersion) {
    return environment_error(
        "the worker speaks protocol {}, this parent {}: use the same autokernel on both sides", hello.version,
        kProtocolVersion);
  }
  client->hello_ = std::move(hello);
  return client;
}

void Client::keep_errors(std::string_view text) {
  errors_.append(text);
  if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
}

std::string Client::last_errors() {
  char chunk[4096];
  for (ssize_t count; (count = ::read(child_.err(), chunk, sizeof chunk)) > 0;) {
    keep_errors({chunk, static_cast<std::size_t>(count)});
  }
  while (!errors_.empty() && std::isspace(static_cast<unsigned char>(errors_.back()))) errors_.pop_back();
  return errors_.empty() ? std::string() : ": " + errors_;
}

Status Client::send(Json request) {
  for (const std::string& hash : take_texts(request, sent_)) {
    AK_TRY_VOID(write_message(child_.in(), {{"type", "text"}, {"hash", hash}, {"text", sent_.at(hash)}}));
  }
  return write_message(child_.in(), request);
}

Result<std::string> Client::answer(milliseconds deadline) {
  AK_TRY(read,
         read_message(child_.out(), reader_, deadline,
                      {stop_watch_, child_.err(), [this](std::string_view text) { keep_errors(text); }}));
  if (read.end == ReadEnd::kMessage) return std::move(read.message);
  if (read.end == ReadEnd::kEof) return environment_error("the worker ended unexpectedly{}", last_errors());
  child_.kill_group();
  return environment_error("the worker gave no answer within {} s", deadline.count() / 1000);
}

Result<Json> Client::call(Json request, std::string_view expected, milliseconds deadline) {
  Status sent = send(std::move(request));
  if (!sent &&
      sent.error().code == ErrorCode::kEnvironment) {  // what it said last tells more than a broken pipe
    child_.wait_for(milliseconds(1000));
    broken_ = true;
    return environment_error("the worker ended unexpectedly{}", last_errors());
  }
  Result<std::string> text = answer(deadline);
  if (!text) {
    broken_ = true;
    return tl::unexpected(std::move(text.error()));
  }
  AK_TRY(reply, parse_json(*text, "the worker's answer"));
  AK_TRY(fields, JsonReader::object(reply, "answer"));
  AK_TRY(type, fields.get_string("type"));
  if (type != expected) return tl::unexpected(error_from_message(reply, expected));
  return reply;
}

Result<CompileAnswer> Client::compile(const Source& source, milliseconds deadline) {
  Json request = {
      {"type", "compile"}, {"source", ak::to_json(source)}, {"deadline_s", deadline.count() / 1000.0}};
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
  // A failure to write shows in the call below.
  if (freshness == Freshness::kFresh) (void)write_message(child_.in(), {{"type", "fresh"}});
  Json request = {
      {"type", "judge"}, {"job", harness::to_json(job)}, {"deadline_s", deadline.count() / 1000.0}};
  AK_TRY(reply, call(std::move(request), "verdict", deadline + kGrace));
  AK_TRY(fields, JsonReader::object(reply, "answer"));
  AK_TRY(verdict, fields.get_object("verdict"));
  return verdict_from_json(*verdict, "verdict");
}

Result<std::vector<harness::FamilyFinding>> Client::check_family(const std::string& name, std::uint64_t seed,
                                                                 milliseconds deadline) {
  Json request = {{"type", "check_family"},
                  {"name", name},
                  {"seed", static_cast<std::int64_t>(seed >> 1)},
                  {"deadline_s", deadline.count() / 1000.0}};
  AK_TRY(reply, call(std::move(request), "family_checked", deadline + kGrace));
  AK_TRY(fields, JsonReader::object(reply, "answer"));
  AK_TRY(findings, fields.get_array("findings"));
  return harness::family_findings_from_json(*findings, "answer.findings");
}

}  // namespace ak::worker
