#pragma once
// The parent's end of one worker: a command with two pipes (`autokernel worker`, `ssh box autokernel worker`,
// ...).

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autokernel/base/subprocess.h"
#include "autokernel/core/verdict.h"
#include "autokernel/harness/family_check.h"
#include "autokernel/harness/job.h"
#include "autokernel/worker/frame.h"
#include "autokernel/worker/protocol.h"

namespace ak::worker {

enum class Freshness { kReuse, kFresh };  ///< fresh: a new runner, for confirmations and after failures

struct CompileAnswer {
  double seconds = 0;
  std::optional<Failure> failure;
};

class Client {
 public:
  /// Starts the command and shakes hands. A hang-up on `stop_watch` ends every wait, as if the worker had
  /// ended.
  static Result<std::unique_ptr<Client>> start(const std::vector<std::string>& command,
                                               const std::vector<FamilyFiles>& families,
                                               Role role = Role::kMeasure, int stop_watch = -1);
  const Hello& hello() const { return hello_; }
  /// False once the worker has ended or failed to answer.
  bool alive() { return !broken_ && !child_.poll(); }

  Result<CompileAnswer> compile(const Source& source, std::chrono::milliseconds deadline);
  /// A candidate that kills the runner yields a verdict; an Error means that the worker itself is gone.
  Result<Verdict> judge(const harness::Job& job, Freshness freshness, std::chrono::milliseconds deadline);
  /// What is wrong with a family; empty: nothing.
  Result<std::vector<harness::FamilyFinding>> check_family(const std::string& name, std::uint64_t seed,
                                                           std::chrono::milliseconds deadline);

 private:
  Client(ChildProcess child, int stop_watch) : child_(std::move(child)), stop_watch_(stop_watch) {}
  Result<Json> call(Json request, std::string_view expected, std::chrono::milliseconds deadline);
  /// The answer to a request that was sent, as it came.
  Result<std::string> answer(std::chrono::milliseconds deadline);
  Status send(Json request);
  void keep_errors(std::string_view text);
  std::string last_errors();

  ChildProcess child_;
  int stop_watch_;
  std::string errors_;  ///< the end of what the worker said on standard error
  FrameReader reader_;
  Hello hello_;
  std::map<std::string, std::string> sent_;
  bool broken_ = false;
};

}  // namespace ak::worker
