#pragma once
// The workers of a run: one that measures (one measuring runner a device) and some that only compile, each
// driven by a thread of its own, so that compiling runs in parallel with measuring.

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autokernel/base/unique_fd.h"
#include "autokernel/core/binary.h"
#include "autokernel/worker/client.h"

namespace ak::worker {

struct PoolOptions {
  std::vector<std::string> command;  ///< of one worker
  std::size_t compilers = 1;         ///< workers that only compile; 0: the measuring one compiles
  std::vector<FamilyFiles> families;
  std::chrono::milliseconds compile_deadline{60'000};
  std::chrono::milliseconds judge_deadline{300'000};
};

class Pool {
 public:
  static Result<std::unique_ptr<Pool>> start(PoolOptions options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const Hello& hello() const;
  std::size_t compilers() const { return options_.compilers; }

  /// Compiles into the shared object cache. Sources in flight or done before are not compiled twice.
  std::shared_future<Result<CompileAnswer>> compile(const Source& source);
  std::future<Result<Verdict>> judge(harness::Job job, Freshness freshness);
  /// Compiles everything the job needs on all compile workers, and judges as soon as the candidate is
  /// compiled; compile_s is that of all its binaries. A candidate that is rejected early leaves the rest
  /// uncompiled when the pool ends.
  Result<Verdict> compile_and_judge(const harness::Job& job, const std::vector<Source>& sources,
                                    Freshness freshness);

 private:
  class Queue;
  class Lane;
  explicit Pool(PoolOptions options);
  PoolOptions options_;
  UniqueFd stop_watch_, stop_signal_;  ///< a pipe whose write end goes when the pool ends
  std::unique_ptr<Queue> measure_queue_, compile_queue_;
  std::map<std::string, std::shared_future<Result<CompileAnswer>>> compiled_;
  Hello hello_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // last: joined before what they use goes
};

}  // namespace ak::worker
