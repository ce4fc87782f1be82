#include "autokernel/worker/runner.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "autokernel/base/clock.h"
#include "autokernel/harness/harness.h"
#include "autokernel/worker/frame.h"
#include "autokernel/worker/protocol.h"

namespace ak::worker {
namespace {

class Runner {
 public:
  explicit Runner(RunnerOptions options) : options_(std::move(options)) {}

  Result<Json> answer(const Json& request) {
    AK_TRY(fields, JsonReader::object(request, "request"));
    AK_TRY(type, fields.get_string("type"));
    if (type == "hello") return hello(request);
    if (!parts_.compiler) return usage_error("the first request must be hello");
    if (type == "compile") return compile(fields);
    if (!harness_) return usage_error("this worker was started to compile: it cannot answer `{}`", type);
    if (type == "judge") return judge(fields);
    if (type == "check_family") return check_family(fields);
    return usage_error("unknown request type `{}`", type);
  }

 private:
  Result<Json> hello(const Json& request) {
    AK_TRY(fields, JsonReader::object(request, "hello"));
    AK_TRY(version, fields.get_int("version"));
    if (version != kProtocolVersion) {
      return environment_error(
          "the parent speaks protocol {}, this worker {}: use the same autokernel on both sides", version,
          kProtocolVersion);
    }
    AK_TRY(families, families_from_json(request));
    for (const FamilyFiles& family : families) {
      std::vector<EmbeddedFile> files;
      for (const auto& [path, text] : family.files) files.push_back({path, text});
      AK_TRY(loaded, op::load_family(family.name, files));
      options_.registry.add(std::move(loaded));
    }
    AK_TRY(parts, options_.parts(role_from_json(request)));
    parts_ = std::move(parts);
    DeviceInfo device;
    if (parts_.device == nullptr) {
      device.kind = "none";
    } else {
      device = parts_.device->info();
      make_harness();
    }
    return to_json(
        Hello{kProtocolVersion, options_.version, parts_.compiler->description(), std::move(device)});
  }

  void make_harness() {
    harness_ = std::make_unique<harness::Harness>(*parts_.device, *parts_.compiler, options_.registry,
                                                  options_.checks, clock_, options_.peak_folder);
  }

  Result<Json> compile(const JsonReader& fields) {
    AK_TRY(source_json, fields.get_object("source"));
    AK_TRY(source, source_from_json(*source_json, "compile.source"));
    auto start = clock_.now();
    AK_TRY(outcome, parts_.compiler->compile(source));
    Json reply = {
        {"type", "compiled"}, {"seconds", seconds_between(start, clock_.now())}, {"failure", nullptr}};
    if (outcome.failure) reply["failure"] = ak::to_json(*outcome.failure);
    return reply;
  }

  Result<Json> judge(const JsonReader& fields) {
    AK_TRY(job_json, fields.get_object("job"));
    AK_TRY(job, harness::job_from_json(*job_json, "judge.job"));
    AK_TRY(verdict, harness_->judge(job));
    verdict.selftest = verdict.selftest || options_.selftest;
    return Json{{"type", "verdict"}, {"verdict", ak::to_json(verdict)}, {"usable", parts_.device->usable()}};
  }

  Result<Json> check_family(const JsonReader& fields) {
    AK_TRY(name, fields.get_string("name"));
    AK_TRY(seed, fields.get_int("seed"));
    AK_TRY(findings, harness_->check_family(name, static_cast<std::uint64_t>(seed)));
    Json list = Json::array();
    for (const harness::FamilyFinding& finding : findings) list.push_back(harness::to_json(finding));
    return Json{{"type", "family_checked"}, {"findings", std::move(list)}};
  }

  RunnerOptions options_;
  SystemClock clock_;
  RunnerParts parts_;
  std::unique_ptr<harness::Harness> harness_;
};

}  // namespace

int run_runner(RunnerOptions options, int in, int out) {
  Runner runner(std::move(options));
  FrameReader reader;
  while (true) {
    Result<ReadOutcome> read = read_message(in, reader, std::nullopt);
    if (!read) {
      (void)write_message(out, error_message(read.error()));
      return 3;
    }
    if (read->end != ReadEnd::kMessage) return 0;
    Result<Json> request = parse_json(read->message, "request");
    Result<Json> reply = request ? runner.answer(*request) : std::move(request);
    if (!write_message(out, reply ? *reply : error_message(reply.error()))) return 3;
  }
}

}  // namespace ak::worker
