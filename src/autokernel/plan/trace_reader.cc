#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "autokernel/base/json.h"
#include "autokernel/plan/json_cursor.h"
#include "autokernel/plan/trace.h"

namespace ak::plan {
namespace {

constexpr std::size_t kWindowBytes = 1u << 20;
constexpr std::size_t kMaxValueBytes = 256u << 20;      // no event is this long
constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;  // of a time, and of all durations
constexpr char kArgumentSeparator = '\x1e';
constexpr std::string_view kLabelPrefix = "ak.site:";

/// The members of one event that matter, as raw JSON.
struct Event {
  std::string_view phase, category, name, process, thread, start, duration;
  std::string_view external_id, correlation, dims, types, strides, values;
};

bool read_argument(JsonCursor& cursor, Event& event) {
  std::string_view key;
  if (!cursor.key(key)) return false;
  std::string_view ignored;
  std::string_view* member = key == "External id" || key == "external id" ? &event.external_id
                             : key == "correlation"                       ? &event.correlation
                             : key == "Input Dims" || key == "Input dims" ? &event.dims
                             : key == "Input type"                        ? &event.types
                             : key == "Input Strides"                     ? &event.strides
                             : key == "Concrete Inputs"                   ? &event.values
                                                                          : &ignored;
  return cursor.value(*member);
}

/// The members of an object, each read by `read`.
template <class Read>
bool read_object(JsonCursor& cursor, const Read& read) {
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  do {
    if (!read()) return false;
  } while (cursor.take(','));
  return cursor.take('}');
}

bool read_member(JsonCursor& cursor, Event& event) {
  std::string_view key;
  if (!cursor.key(key)) return false;
  if (key == "args" && cursor.peek() == '{')
    return read_object(cursor, [&] { return read_argument(cursor, event); });
  const bool text = cursor.peek() == '"';
  if (text && key == "ph") return cursor.string(event.phase);
  if (text && key == "cat") return cursor.string(event.category);
  if (text && key == "name") return cursor.string(event.name);
  std::string_view ignored;
  return cursor.value(key == "ts"    ? event.start
                      : key == "dur" ? event.duration
                      : key == "pid" ? event.process
                      : key == "tid" ? event.thread
                                     : ignored);
}

bool is_op(const Event& event) { return event.category == "cpu_op" || event.category == "Operator"; }

bool is_label(const Event& event) {
  return event.category == "user_annotation" && event.name.starts_with(kLabelPrefix);
}

bool is_call(std::string_view category) {
  return category.ends_with("_runtime") || category.ends_with("_driver") || category == "Runtime";
}

bool is_work(std::string_view category) {
  return category == "kernel" || category == "gpu_memset" || category == "gpu_memcpy" ||
         category == "Kernel" || category == "Memset" || category == "Memcpy";
}

class TraceReader {
 public:
  TraceReader(ByteSource& source, std::string_view name) : source_(source), name_(name) {}

  Result<Trace> run() {
    AK_TRY_VOID(read_root());
    AK_TRY_VOID(expect_end());
    if (trace_.ops.empty() && trace_.work.empty()) {
      return usage_error(
          "{}: {} events, but none of a CPU op or a kernel: this is no trace of torch.profiler "
          "(prof.export_chrome_trace)",
          name_, trace_.event_count);
    }
    return std::move(trace_);
  }

 private:
  /// Runs `parse` on the text from here on, with as much text as it needs. What it hands out stays valid
  /// until the next call.
  template <class Parse>
  Status complete(const Parse& parse) {
    for (;;) {
      JsonCursor cursor({window_.data() + at_, size_ - at_});
      const bool ok = parse(cursor);
      const std::size_t reached = static_cast<std::size_t>(cursor.position() - window_.data());
      if (ok) {
        at_ = reached;
        return {};
      }
      if (!cursor.at_end()) return broken(reached);
      if (ended_) return truncated();
      AK_TRY_VOID(fetch());
    }
  }

  Status fetch() {
    const std::size_t left = size_ - at_;
    if (left > kMaxValueBytes) {
      return usage_error("{}: byte {}: a value of more than {} MB: not a trace", name_, passed_ + at_,
                         kMaxValueBytes >> 20);
    }
    std::memmove(window_.data(), window_.data() + at_, left);
    passed_ += at_;
    at_ = 0;
    if (left * 2 > window_.size()) window_.resize(window_.size() * 2);
    Result<std::size_t> got = source_.read({window_.data() + left, window_.size() - left - 1});
    if (!got) return tl::unexpected(std::move(got).error().with_context(name_));
    size_ = left + *got;
    window_[size_] = '\0';
    ended_ = *got == 0;
    return {};
  }

  tl::unexpected<Error> broken(std::size_t reached) const {
    std::string near(window_.data() + reached, std::min<std::size_t>(size_ - reached, 24));
    std::replace_if(near.begin(), near.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '.');
    return usage_error(
        "{}: byte {}: this is no JSON at `{}`{}: expected a trace of torch.profiler, .json or .json.gz",
        name_, passed_ + reached, near,
        trace_.event_count > 0 ? fmt::format(" (after {} events)", trace_.event_count) : "");
  }

  tl::unexpected<Error> truncated() const {
    if (passed_ + size_ == 0) return usage_error("{}: the file is empty: record the trace again", name_);
    return usage_error(
        "{}: the file ends in the middle, at byte {}{}: it is truncated (a full disk, or a program that was "
        "stopped "
        "while it wrote); record the trace again",
        name_, passed_ + size_,
        trace_.event_count > 0 ? fmt::format(", after {} events", trace_.event_count) : "");
  }

  Status read_root() {
    char first = 0;
    AK_TRY_VOID(complete([&](JsonCursor& cursor) {
      first = cursor.peek();
      return (first == '{' || first == '[') && cursor.take(first);
    }));
    if (first == '[') return read_events();
    bool more = true;
    AK_TRY_VOID(complete([&](JsonCursor& cursor) {
      more = !cursor.take('}');
      return !cursor.at_end() || !more;
    }));
    while (more) {
      AK_TRY_VOID(read_root_member());
      AK_TRY_VOID(complete([&](JsonCursor& cursor) {
        more = cursor.take(',');
        return more || cursor.take('}');
      }));
    }
    return {};
  }

  /// Nothing but blanks follows; also makes a source check its own end.
  Status expect_end() {
    for (;;) {
      JsonCursor cursor({window_.data() + at_, size_ - at_});
      cursor.peek();
      at_ = static_cast<std::size_t>(cursor.position() - window_.data());
      if (!cursor.at_end()) return broken(at_);
      if (ended_) return {};
      AK_TRY_VOID(fetch());
    }
  }

  Status read_root_member() {
    std::string key;
    char first = 0;
    AK_TRY_VOID(complete([&](JsonCursor& cursor) {
      std::string_view raw;
      if (!cursor.key(raw)) return false;
      key = raw;
      first = cursor.peek();
      return first != '\0';
    }));
    if (key == "traceEvents" && first == '[') {
      AK_TRY_VOID(complete([](JsonCursor& cursor) { return cursor.take('['); }));
      return read_events();
    }
    std::string_view value;
    AK_TRY_VOID(complete([&](JsonCursor& cursor) { return cursor.value(value); }));
    if (key == "deviceProperties") read_device(value);
    return {};
  }

  /// Only a description: one that cannot be read leaves the device unknown.
  void read_device(std::string_view text) {
    const Result<Json> properties = parse_json(text, "deviceProperties");
    if (!properties || !properties->is_array() || properties->empty() || !(*properties)[0].is_object())
      return;
    const Json& first = (*properties)[0];
    const auto number = [&](const char* key) {
      const auto it = first.find(key);
      return it != first.end() && it->is_number_unsigned() ? it->get<std::uint32_t>() : 0;
    };
    TraceDevice device;
    if (const auto it = first.find("name"); it != first.end() && it->is_string())
      device.name = it->get<std::string>();
    device.compute_major = static_cast<int>(number("computeMajor"));
    device.compute_minor = static_cast<int>(number("computeMinor"));
    device.multiprocessors = number("numSms");
    trace_.device = std::move(device);
  }

  Status read_events() {
    for (bool first = true;; first = false) {
      Event event;
      bool done = false;
      AK_TRY_VOID(complete([&](JsonCursor& cursor) {
        event = {};
        done = cursor.peek() == ']';
        if (done) return cursor.take(']');
        if (!first && !cursor.take(',')) return false;
        return read_object(cursor, [&] { return read_member(cursor, event); });
      }));
      if (done) return {};
      ++trace_.event_count;
      if (event.phase == "X") AK_TRY_VOID(take_event(event));
    }
  }

  Status take_event(const Event& event) {
    const bool op = is_op(event);
    const bool label = !op && is_label(event);
    const bool work = !op && is_work(event.category);
    if (!op && !label && !work && !is_call(event.category)) return {};
    const std::optional<std::int64_t> start = parse_thousandths(event.start);
    const std::optional<std::int64_t> duration =
        event.duration.empty() ? std::optional<std::int64_t>(0) : parse_thousandths(event.duration);
    const bool times = start && duration && std::abs(*start) < kMaxNs && *duration >= 0 &&
                       *duration < kMaxNs && (label || (total_ns_ += std::min(*duration, kMaxNs)) < kMaxNs);
    if (!times) {
      return usage_error("{}: event {} ({}): `ts` or `dur` is no time: `{}`, `{}`", name_, trace_.event_count,
                         event.name, event.start, event.duration);
    }
    const std::uint64_t correlation = parse_unsigned(event.correlation).value_or(0);
    const std::uint64_t external_id = parse_unsigned(event.external_id).value_or(0);
    if (work) {
      trace_.work.push_back({*duration, correlation, external_id, name_of(event.name)});
    } else if (label) {
      trace_.labels.push_back(
          {*start, *duration, name_of(event.name.substr(kLabelPrefix.size())), thread_of(event)});
    } else if (op) {
      trace_.ops.push_back(
          {*start, *duration, external_id, name_of(event.name), arguments_of(event), thread_of(event)});
    } else if (correlation != 0) {
      trace_.calls.push_back({*start, correlation, thread_of(event)});
    }
    return {};
  }

  std::uint32_t name_of(std::string_view raw) {
    if (raw.find('\\') == std::string_view::npos) return trace_.names.add(raw);
    return trace_.names.add(unescaped(raw));
  }

  std::uint32_t arguments_of(const Event& event) {
    trace_.has_shapes = trace_.has_shapes || !event.dims.empty();
    trace_.has_values = trace_.has_values || !event.values.empty();
    scratch_.assign(event.dims);
    for (const std::string_view part : {event.types, event.strides, event.values}) {
      scratch_ += kArgumentSeparator;
      scratch_ += part;
    }
    return trace_.arguments.add(scratch_);
  }

  std::uint32_t thread_of(const Event& event) {
    scratch_.assign(event.process);
    scratch_ += kArgumentSeparator;
    scratch_ += event.thread;
    return threads_.add(scratch_);
  }

  ByteSource& source_;
  std::string name_;
  Trace trace_;
  Interner threads_;
  std::string scratch_;
  std::vector<char> window_ = std::vector<char>(kWindowBytes);  // text [at_, size_), then a zero byte
  std::size_t at_ = 0, size_ = 0;
  std::uint64_t passed_ = 0;   // bytes before the window
  std::int64_t total_ns_ = 0;  // of all durations
  bool ended_ = false;
};

}  // namespace

std::uint32_t Interner::add(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(&ids_.emplace(text, id).first->first);
  return id;
}

Result<Trace> read_trace(ByteSource& source, std::string_view name) {
  return TraceReader(source, name).run();
}

Result<Trace> read_trace(const std::filesystem::path& path) {
  AK_TRY(source, open_source(path));
  return read_trace(*source, path.string());
}

}  // namespace ak::plan
