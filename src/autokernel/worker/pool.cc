#include "autokernel/worker/pool.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace ak::worker {

/// A worker and the thread that talks to it. The worker is started on first use (compilers) and again after
/// it died.
class Pool::Lane {
 public:
  Lane(const PoolOptions& options, Role role)
      : options_(options), role_(role), thread_([this](std::stop_token stop) { run(stop); }) {}
  ~Lane() {
    thread_.request_stop();
    wake_.notify_all();
  }

  using Task = std::function<void(Lane&)>;
  void post(Task task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }

  /// For tasks: the worker, started again if it is gone.
  Result<Client*> client() {
    if (client_ && client_->alive()) return client_.get();
    client_.reset();
    AK_TRY(started, Client::start(options_.command, options_.families, role_));
    client_ = std::move(started);
    return client_.get();
  }
  /// What `request` answers. Failures of the environment alone (a lost worker) are tried again, once.
  template <class T>
  Result<T> ask(const std::function<Result<T>(Client&)>& request) {
    Result<T> answer = ask_once(request);
    if (answer || answer.error().code != ErrorCode::kEnvironment) return answer;
    return ask_once(request);
  }

 private:
  template <class T>
  Result<T> ask_once(const std::function<Result<T>(Client&)>& request) {
    AK_TRY(worker, client());
    return request(*worker);
  }

  void run(std::stop_token stop) {
    block_sigpipe();
    while (true) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return !tasks_.empty(); })) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task(*this);
    }
  }

  /// A worker that dies leaves a pipe without a reader: an error of this thread, not the end of the program.
  static void block_sigpipe() {
    sigset_t sigpipe;
    ::sigemptyset(&sigpipe);
    ::sigaddset(&sigpipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
  }

  const PoolOptions& options_;
  const Role role_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Task> tasks_;
  std::unique_ptr<Client> client_;
  std::jthread thread_;  // last: joined before what it uses goes
};

namespace {

Result<Verdict> judge_with(Client& client, const harness::Job& job, Freshness freshness,
                           std::chrono::milliseconds deadline) {
  AK_TRY(verdict, client.judge(job, freshness, deadline));
  if (verdict.selftest) {
    return environment_error(
        "the worker is one of the self-test, whose checks may be off: start it without --selftest");
  }
  auto lost = [&] { return verdict.failure && verdict.failure->kind == FailureKind::kInfrastructure; };
  // Infrastructure failures alone are retried, once, in a fresh runner.
  if (!lost()) return verdict;
  AK_TRY(again, client.judge(job, Freshness::kFresh, deadline));
  verdict = std::move(again);
  if (lost()) verdict.failure->kind = FailureKind::kCrash;  // twice: it is the candidate
  return verdict;
}

}  // namespace

Pool::Pool(PoolOptions options) : options_(std::move(options)) {}
Pool::~Pool() = default;

Result<std::unique_ptr<Pool>> Pool::start(PoolOptions options) {
  std::unique_ptr<Pool> pool(new Pool(std::move(options)));
  pool->measuring_ = std::make_unique<Lane>(pool->options_, Role::kMeasure);
  for (std::size_t i = 0; i < pool->options_.compilers; ++i) {
    pool->compiling_.push_back(std::make_unique<Lane>(pool->options_, Role::kCompile));
  }
  std::promise<Result<Hello>> promise;
  std::future<Result<Hello>> answer = promise.get_future();
  pool->measuring_->post([&](Lane& lane) {
    Result<Client*> client = lane.client();
    promise.set_value(client ? Result<Hello>((*client)->hello()) : tl::unexpected(client.error()));
  });
  AK_TRY(hello, answer.get());
  pool->hello_ = std::move(hello);
  return pool;
}

const Hello& Pool::hello() const { return hello_; }

std::shared_future<Result<CompileAnswer>> Pool::compile(const Source& source) {
  std::string key = hash(source);
  if (auto it = compiled_.find(key); it != compiled_.end()) return it->second;
  auto promise = std::make_shared<std::promise<Result<CompileAnswer>>>();
  std::shared_future<Result<CompileAnswer>> answer = promise->get_future().share();
  Lane& lane = compiling_.empty() ? *measuring_ : *compiling_[next_++ % compiling_.size()];
  lane.post([promise, source, deadline = options_.compile_deadline](Lane& own) {
    promise->set_value(
        own.ask<CompileAnswer>([&](Client& client) { return client.compile(source, deadline); }));
  });
  compiled_.emplace(std::move(key), answer);
  return answer;
}

std::future<Result<Verdict>> Pool::judge(harness::Job job, Freshness freshness) {
  auto promise = std::make_shared<std::promise<Result<Verdict>>>();
  std::future<Result<Verdict>> answer = promise->get_future();
  measuring_->post(
      [promise, job = std::move(job), freshness, deadline = options_.judge_deadline](Lane& lane) {
        promise->set_value(
            lane.ask<Verdict>([&](Client& client) { return judge_with(client, job, freshness, deadline); }));
      });
  return answer;
}

Result<Verdict> Pool::compile_and_judge(const harness::Job& job, const std::vector<Source>& sources,
                                        Freshness freshness) {
  std::vector<std::shared_future<Result<CompileAnswer>>> pending;
  for (const Source& source : sources) pending.push_back(compile(source));
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const Result<CompileAnswer>& answer = pending[i].get();
    if (!answer) return tl::unexpected(answer.error());
    if (answer->failure &&
        sources[i].text == job.candidate.text) {  // the harness would only compile it once more
      Verdict verdict;
      verdict.failure = answer->failure;
      verdict.stages[std::string(name(Stage::kCompile))] = "FAIL";
      verdict.compile_s = verdict.wall_s = answer->seconds;
      verdict.device = hello_.device;
      return verdict;
    }
  }
  return judge(job, freshness).get();
}

}  // namespace ak::worker
