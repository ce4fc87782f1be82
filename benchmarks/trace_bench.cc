// Reading traces. Goal: 1 GB of JSON (millions of events) in <= 15 s and 2 GB of memory on two cores; a
// sample trace in
// <= 100 ms. What users wait for, whole processes, is measured by trace_speed.py.
//
//   trace_bench [--benchmark_filter=...] [AK_TRACE=sample.json.gz] [AK_TRACE_BYTES=1e9]
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include "autokernel/plan/op_traits.h"
#include "autokernel/plan/plan.h"

namespace {

using namespace ak;

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

std::string sample_path() {
  return environment("AK_TRACE", AK_SOURCE_DIR "/tests/data/traces/llama_gqa_bf16_1x1024.json.gz");
}

/// A trace many times over: each time with later times and other ids, so that all of it must be attributed.
class RepeatedTrace final : public plan::ByteSource {
 public:
  RepeatedTrace(const std::string& text, double bytes) : left_(bytes) {
    const std::size_t begin = text.find('[', text.find("\"traceEvents\"")) + 1, end = text.rfind(']');
    prefix_ = text.substr(0, begin);
    suffix_ = text.substr(end);
    const std::string events = text.substr(begin, end - begin);
    static const std::regex kNumbers(R"re("(ts|correlation|id|External id)": (\d+))re");
    std::size_t last = 0;
    for (std::sregex_iterator it(events.begin(), events.end(), kNumbers), none; it != none; ++it) {
      const auto at = static_cast<std::size_t>(it->position(2));
      parts_.push_back({events.substr(last, at - last), std::stoull((*it)[2]), (*it)[1] == "ts"});
      last = at + static_cast<std::size_t>(it->length(2));
    }
    tail_ = events.substr(last);
    ready_ = prefix_;
  }

  Result<std::size_t> read(std::span<char> out) override {
    if (at_ == ready_.size() && left_ > 0) next_round();
    const std::size_t count = std::min(out.size(), ready_.size() - at_);
    std::memcpy(out.data(), ready_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  struct Part {
    std::string before;
    unsigned long long number;
    bool time;
  };

  void next_round() {
    ready_.clear();
    at_ = 0;
    if (round_ > 0) ready_ += ",";
    for (const Part& part : parts_) {
      ready_ += part.before;
      ready_ += std::to_string(part.number + round_ * (part.time ? 100'000 : 1'000'000));
    }
    ready_ += tail_;
    ++round_;
    left_ -= static_cast<double>(ready_.size());
    if (left_ <= 0) ready_ += suffix_;
  }

  std::string prefix_, suffix_, tail_, ready_;
  std::vector<Part> parts_;
  std::size_t at_ = 0;
  unsigned long long round_ = 0;
  double left_;
};

std::string whole_text(plan::ByteSource& source) {
  std::string text;
  std::vector<char> piece(1 << 20);
  for (;;) {
    const Result<std::size_t> got = source.read(piece);
    AK_CHECK(got.has_value());
    if (*got == 0) return text;
    text.append(piece.data(), *got);
  }
}

double resident_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void attribute(benchmark::State& state, plan::Trace& trace) {
  static const op::Registry kFamilies = *op::Registry::create(op::embedded_families(), {});
  const plan::OpTraits traits = *plan::embedded_op_traits();
  const plan::CallTree tree = plan::CallTree::build(trace);
  const plan::MatchedTrace matched = plan::match_trace(trace, tree, kFamilies, traits);
  const Result<plan::Plan> plan = plan::make_plan(trace, tree, matched, std::nullopt);
  AK_CHECK(plan.has_value() && plan->unattributed_share == 0);
  state.counters["events"] = static_cast<double>(trace.event_count);
  state.counters["sites"] = static_cast<double>(plan->sites.size());
  state.counters["peak_rss_MB"] = resident_mb();
}

void sample(benchmark::State& state) {
  for (auto _ : state) {
    Result<plan::Trace> trace = plan::read_trace(sample_path());
    AK_CHECK(trace.has_value());
    attribute(state, *trace);
  }
}
BENCHMARK(sample)->Unit(benchmark::kMillisecond);

/// What it takes to make the text itself is in `making`, to be subtracted.
void large(benchmark::State& state) {
  const std::string text = whole_text(**plan::open_source(sample_path()));
  for (auto _ : state) {
    RepeatedTrace source(text, std::stod(environment("AK_TRACE_BYTES", "1e9")));
    Result<plan::Trace> trace = plan::read_trace(source, "repeated");
    AK_CHECK(trace.has_value());
    attribute(state, *trace);
  }
}
BENCHMARK(large)->Unit(benchmark::kSecond)->Iterations(1);

void making(benchmark::State& state) {
  const std::string text = whole_text(**plan::open_source(sample_path()));
  std::vector<char> piece(1 << 20);
  for (auto _ : state) {
    RepeatedTrace source(text, std::stod(environment("AK_TRACE_BYTES", "1e9")));
    for (std::size_t got = 1; got > 0;) got = *source.read(piece);
  }
}
BENCHMARK(making)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
