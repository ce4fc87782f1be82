#include "autokernel/worker/pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace ak::worker {

namespace {

constexpr std::chrono::seconds kCompilersGrace{2};

}  // namespace

/// Tasks that any of some lanes may take.
class Pool::Queue {
 public:
  using Task = std::function<void(Lane&)>;
  void post(Task task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }
  /// The next task; nothing once a stop is requested, also where tasks are left.
  std::optional<Task> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, stop, [&] { return !tasks_.empty(); });
    if (stop.stop_requested()) return std::nullopt;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Task> tasks_;
};

/// A worker and the thread that talks to it. The worker is started on first use (compilers) and again after
/// it died.
class Pool::Lane {
 public:
  Lane(const Pool& pool, Queue& queue, Role role)
      : pool_(pool), queue_(queue), role_(role), thread_([this](std::stop_token stop) { run(stop); }) {}

  void request_stop() { thread_.request_stop(); }
  bool compiling() const { return role_ == Role::kCompile && busy_; }

  /// For tasks: the worker, started again if it is gone.
  Result<Client*> client() {
    if (client_ && client_->alive()) return client_.get();
    client_.reset();
    const PoolOptions& options = pool_.options_;
    AK_TRY(started, Client::start(options.command, options.families, role_, pool_.stop_watch_.get()));
    client_ = std::move(started);
    return client_.get();
  }
  /// What `request` answers. Failures of the environment alone (a lost worker) are tried again, once.
  template <class T>
  Result<T> ask(const std::function<Result<T>(Client&)>& request) {
    Result<T> answer = ask_once(request);
    if (answer || answer.error().code != ErrorCode::kEnvironment) return answer;
    if (stop_.stop_requested()) return answer;
    return ask_once(request);
  }

 private:
  template <class T>
  Result<T> ask_once(const std::function<Result<T>(Client&)>& request) {
    AK_TRY(worker, client());
    return request(*worker);
  }

  void run(const std::stop_token& stop) {
    stop_ = stop;
    block_sigpipe();
    while (std::optional<Queue::Task> task = queue_.take(stop)) {
      busy_ = true;
      (*task)(*this);
      busy_ = false;
    }
  }

  /// A worker that dies leaves a pipe without a reader: an error of this thread, not the end of the program.
  static void block_sigpipe() {
    sigset_t sigpipe;
    ::sigemptyset(&sigpipe);
    ::sigaddset(&sigpipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
  }

  const Pool& pool_;
  Queue& queue_;
  const Role role_;
  std::stop_token stop_;
  std::atomic<bool> busy_ = false;
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

Pool::Pool(PoolOptions options)
    : options_(std::move(options)),
      measure_queue_(std::make_unique<Queue>()),
      compile_queue_(std::make_unique<Queue>()) {}

Pool::~Pool() {
  for (const auto& lane : lanes_) lane->request_stop();
  // A compiler that is killed leaves its temporary files behind; most are done in a moment.
  const auto compiling = [](const auto& lane) { return lane->compiling(); };
  for (const auto end = std::chrono::steady_clock::now() + kCompilersGrace;
       std::any_of(lanes_.begin(), lanes_.end(), compiling) && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop_signal_.reset();  // whoever waits for a worker stops waiting
}

Result<std::unique_ptr<Pool>> Pool::start(PoolOptions options) {
  std::unique_ptr<Pool> pool(new Pool(std::move(options)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return environment_error("cannot make a pipe: {}", std::strerror(errno));
  pool->stop_watch_ = UniqueFd(ends[0]);
  pool->stop_signal_ = UniqueFd(ends[1]);
  pool->lanes_.push_back(std::make_unique<Lane>(*pool, *pool->measure_queue_, Role::kMeasure));
  for (std::size_t i = 0; i < pool->options_.compilers; ++i) {
    pool->lanes_.push_back(std::make_unique<Lane>(*pool, *pool->compile_queue_, Role::kCompile));
  }
  std::promise<Result<Hello>> promise;
  std::future<Result<Hello>> answer = promise.get_future();
  pool->measure_queue_->post([&](Lane& lane) {
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
  Queue& queue = options_.compilers == 0 ? *measure_queue_ : *compile_queue_;
  queue.post([promise, source, deadline = options_.compile_deadline](Lane& own) {
    promise->set_value(
        own.ask<CompileAnswer>([&](Client& client) { return client.compile(source, deadline); }));
  });
  compiled_.emplace(std::move(key), answer);
  return answer;
}

std::future<Result<Verdict>> Pool::judge(harness::Job job, Freshness freshness) {
  auto promise = std::make_shared<std::promise<Result<Verdict>>>();
  std::future<Result<Verdict>> answer = promise->get_future();
  measure_queue_->post(
      [promise, job = std::move(job), freshness, deadline = options_.judge_deadline](Lane& lane) {
        promise->set_value(
            lane.ask<Verdict>([&](Client& client) { return judge_with(client, job, freshness, deadline); }));
      });
  return answer;
}

Result<Verdict> Pool::compile_and_judge(const harness::Job& job, const std::vector<Source>& sources,
                                        Freshness freshness) {
  const auto is_own = [&](const Source& source) {
    return source.text == job.candidate.text || (job.incumbent && source.text == job.incumbent->text);
  };
  struct Pending {
    const Source& source;
    bool is_new;  ///< else the time of its compile was counted when this pool compiled it
    std::shared_future<Result<CompileAnswer>> answer;
  };
  std::vector<Pending> own;
  for (const Source& source : sources) {
    if (!is_own(source)) continue;
    const std::size_t known = compiled_.size();
    auto answer = compile(source);
    own.push_back({source, compiled_.size() > known, std::move(answer)});
  }
  double compile_s = 0;
  for (const Pending& each : own) {
    const Result<CompileAnswer>& answer = each.answer.get();
    if (!answer) return tl::unexpected(answer.error());
    if (each.source.text != job.candidate.text) continue;
    if (each.is_new) compile_s += answer->seconds;
    if (!answer->failure) continue;  // else the harness would only compile it once more
    Verdict verdict;
    verdict.failure = answer->failure;
    verdict.stages[std::string(name(Stage::kCompile))] = "FAIL";
    verdict.compile_s = verdict.wall_s = compile_s;
    verdict.device = hello_.device;
    return verdict;
  }
  // The references are compiled beside the checks: what the worker needs before it is there, it waits for or
  // compiles itself (ObjectCache).
  for (const Source& source : sources) {
    if (!is_own(source)) compile(source);
  }
  AK_TRY(verdict, judge(job, freshness).get());
  verdict.compile_s += compile_s;
  return verdict;
}

}  // namespace ak::worker
