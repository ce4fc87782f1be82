#include "autokernel/worker/supervisor.h"

#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "autokernel/base/hash.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/core/verdict.h"
#include "autokernel/worker/frame.h"
#include "autokernel/worker/protocol.h"

namespace ak::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHelloDeadline{60'000};
constexpr double kLongestDeadline = 24 * 3600;  ///< seconds

/// A text field of a message; empty where it is missing or something else.
std::string text_of(const Json& message, const char* field) {
  auto it = message.is_object() ? message.find(field) : message.end();
  return it != message.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// What the runner says of itself; a runner that says it wrongly is not trusted any longer.
bool says_usable(const Json& reply) {
  if (!reply.is_object()) return false;
  auto it = reply.find("usable");
  return it == reply.end() || (it->is_boolean() && it->get<bool>());
}

/// A verdict for a runner that did not live to give one.
Json verdict_of_death(FailureKind kind, const std::string& how) {
  Verdict verdict;
  verdict.failure = Failure{Stage::kIntegrity, kind, "fault", how};
  return {{"type", "verdict"}, {"verdict", ak::to_json(verdict)}, {"usable", false}};
}

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, int in, int out) : options_(options), in_(in), out_(out) {}

  int run() {
    FrameReader reader;
    while (true) {
      Result<ReadOutcome> read = read_message(in_, reader, std::nullopt);
      if (!read || read->end != ReadEnd::kMessage) return read ? 0 : 3;
      Result<Json> request = parse_json(read->message, "request");
      Json reply = request ? handle(std::move(*request)) : error_message(request.error());
      if (parent_gone_) return 0;
      if (!reply.is_null() && !write_message(out_, reply)) return 0;
    }
  }

 private:
  /// null: no answer is due.
  Json handle(Json request) {
    std::string type = text_of(request, "type");
    if (type == "text") return keep_text(request);
    if (type == "fresh") {  // the parent wants the next request to meet a new process
      runner_.reset();
      return nullptr;
    }
    if (Status texts = put_texts(request, texts_); !texts) return error_message(texts.error());
    if (type == "hello") hello_ = request;
    if (!runner_) {
      if (Status started = start(); !started) return error_message(started.error());
      if (type == "hello") return hello_reply_;
    } else if (type == "hello") {
      return hello_reply_;
    }
    return forward(request, type);
  }

  Json keep_text(const Json& request) {
    std::string hash = text_of(request, "hash");
    std::string text = text_of(request, "text");
    if (content_hash(text) != hash)
      return error_message({ErrorCode::kEnvironment, "a text does not match its hash"});
    texts_[hash] = std::move(text);
    return nullptr;
  }

  Status start() {
    ProcessSpec spec;
    spec.argv = options_.runner_command;
    AK_TRY(child, ChildProcess::start(spec));
    runner_ = std::move(child);
    reader_ = FrameReader();
    ::fcntl(runner_->err(), F_SETFL, O_NONBLOCK);
    if (hello_.is_null()) hello_ = hello_request({});
    AK_TRY_VOID(write_message(runner_->in(), hello_));
    AK_TRY(read, await(kHelloDeadline));
    if (read.end != ReadEnd::kMessage) {
      std::string how = describe_end(read.end);
      runner_.reset();
      return environment_error("the runner did not start: {}", how);
    }
    Result<Json> reply = parse_json(read.message, "the runner's hello");
    if (!reply || text_of(*reply, "type") != "hello") {
      runner_.reset();
      return tl::unexpected(reply ? error_from_message(*reply, "hello") : std::move(reply.error()));
    }
    hello_reply_ = std::move(*reply);
    return {};
  }

  /// The runner's next message; what it says on standard error meanwhile goes to ours.
  Result<ReadOutcome> await(milliseconds deadline) {
    Result<ReadOutcome> read = read_message(
        runner_->out(), reader_, deadline, {in_, runner_->err(), [](std::string_view text) { relay(text); }});
    relay_errors();
    return read;
  }

  Json forward(const Json& request, const std::string& type) {
    auto deadline = options_.default_deadline;
    if (request.contains("deadline_s") && request["deadline_s"].is_number()) {
      double seconds = std::clamp(request["deadline_s"].get<double>(), 0.0, kLongestDeadline);
      deadline = milliseconds(static_cast<std::int64_t>(seconds * 1000));
    }
    Status written = write_message(runner_->in(), request);
    Result<ReadOutcome> read = written ? await(deadline) : Result<ReadOutcome>(ReadOutcome{});
    if (read && read->end == ReadEnd::kMessage) {
      Result<Json> reply = parse_json(read->message, "the runner's answer");
      if (!reply || !says_usable(*reply)) runner_.reset();
      if (!reply) return error_message(reply.error());
      return reply->is_object() ? std::move(*reply)
                                : error_message({ErrorCode::kInternal, "the runner's answer is no object"});
    }
    if (read && read->end == ReadEnd::kEof && parent_has_gone()) return nullptr;
    std::string how = read ? describe_end(read->end) : read.error().message;
    bool timed_out = read && read->end == ReadEnd::kTimeout;
    runner_.reset();
    if (type != "judge") return error_message({ErrorCode::kEnvironment, "the runner died: " + how});
    return verdict_of_death(timed_out ? FailureKind::kTimeout : FailureKind::kInfrastructure, how);
  }

  bool parent_has_gone() {
    if (runner_ && runner_->poll()) return false;  // it was the runner that ended
    parent_gone_ = !runner_ || !runner_->wait_for(milliseconds(200));
    return parent_gone_;
  }

  std::string describe_end(ReadEnd end) {
    if (end == ReadEnd::kTimeout) return "no answer within the deadline";
    std::optional<ExitStatus> status = runner_->wait_for(milliseconds(1000));
    return status ? status->describe() : "closed its output";
  }

  /// The runner's own messages go to our standard error.
  void relay_errors() {
    char chunk[4096];
    while (runner_) {
      ssize_t count = ::read(runner_->err(), chunk, sizeof chunk);
      if (count <= 0) return;
      relay({chunk, static_cast<std::size_t>(count)});
    }
  }
  static void relay(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

  const SupervisorOptions& options_;
  int in_, out_;
  std::optional<ChildProcess> runner_;
  FrameReader reader_;
  std::map<std::string, std::string> texts_;
  Json hello_, hello_reply_;
  bool parent_gone_ = false;
};

}  // namespace

int run_supervisor(const SupervisorOptions& options, int in, int out) {
  std::signal(SIGPIPE, SIG_IGN);
  return Supervisor(options, in, out).run();
}

}  // namespace ak::worker
