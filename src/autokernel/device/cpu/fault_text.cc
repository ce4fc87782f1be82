#include "autokernel/device/cpu/fault_text.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ak::cpu {
namespace {

using device::Fault;

std::string_view signal_name(std::uint32_t signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE (integer division by zero or overflow)";
    case SIGILL:
      return "SIGILL";
    case SIGSYS:
      return "SIGSYS";
    case SIGKILL:
      return "SIGKILL";
    case SIGABRT:
      return "SIGABRT";
    default:
      return "a signal";
  }
}

std::string point(const AkDim3& at) { return fmt::format("({},{},{})", at.x, at.y, at.z); }

std::string clean(const char* text, std::size_t capacity) {
  std::string out;
  for (std::size_t i = 0; i < capacity && text[i] != '\0'; ++i) {
    out += text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  }
  return out;
}

/// Builds the sentence of one record.
class Narrator {
 public:
  Narrator(const FaultRecord& record, const FaultContext& context) : record_(record), context_(context) {}

  std::string who() const {
    const std::string block = fmt::format("block {}", point(record_.block));
    return record_.thread_known != 0 ? fmt::format("thread {} of {}", point(record_.thread), block) : block;
  }
  std::string at(std::uint64_t pc) const {
    if (pc == 0) return "";
    const std::string line = context_.lines != nullptr ? context_.lines->line_of(pc) : "";
    return line.empty() ? fmt::format(" at module offset {:#x}", pc) : fmt::format(" at {}", line);
  }
  std::string place() const {
    const std::int64_t offset = record_.offset;
    const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(record_.region_bytes, 1ull << 60));
    // The nearest region tells nothing of an address that is far from it: 8 is no element of a buffer.
    constexpr std::int64_t kNear = std::int64_t{1} << 30;
    const bool is_near = offset >= -kNear && offset - bytes <= kNear;
    std::string region;
    switch (is_near ? record_.region : Region::kUnknown) {
      case Region::kBuffer:
        region = buffer_name();
        break;
      case Region::kStaticShared:
        region = fmt::format("static shared memory ({} bytes)", bytes);
        break;
      case Region::kDynamicShared:
        region = fmt::format("dynamic shared memory ({} bytes)", bytes);
        break;
      default:
        return record_.address < 4096 ? "through a null pointer" : "far from everything it may touch";
    }
    if (offset < 0) return fmt::format("{} bytes before the start of {}", -offset, region);
    if (offset >= bytes) return fmt::format("{} bytes past the end of {}", offset - bytes, region);
    if (offset + static_cast<std::int64_t>(record_.size) > bytes)
      return fmt::format("across the end of {}", region);
    return fmt::format("at byte {} of {}", offset, region);
  }
  std::string access(bool is_write) const {
    const std::string_view verb = is_write ? "writes" : "reads";
    return record_.size == 0 ? std::string(verb) : fmt::format("{} {} bytes", verb, record_.size);
  }
  std::string waits(Wait wait) const {
    switch (wait) {
      case Wait::kBarrier:
        return "waits at a block barrier";
      case Wait::kWarp:
        return "waits for lanes of its warp";
      case Wait::kGrid:
        return "waits at the grid barrier";
      case Wait::kExited:
        return "has returned";
      default:
        return "waits";
    }
  }

 private:
  std::string buffer_name() const {
    const auto bytes = record_.region_bytes;
    if (context_.buffers == nullptr || record_.buffer >= context_.buffers->size()) {
      return fmt::format("a buffer ({} bytes)", bytes);
    }
    const device::BufferId id = (*context_.buffers)[record_.buffer];
    const std::string name = context_.names != nullptr ? (*context_.names)[record_.buffer] : "";
    if (context_.launch != nullptr) {
      for (std::size_t i = 0; i < context_.launch->args.size(); ++i) {
        const auto* ref = std::get_if<device::BufferRef>(&context_.launch->args[i]);
        if (ref == nullptr || ref->buffer != id) continue;
        return name.empty() ? fmt::format("argument {} ({} bytes)", i, bytes)
                            : fmt::format("{} (argument {}, {} bytes)", name, i, bytes);
      }
    }
    return fmt::format("{} that is no argument ({} bytes)", name.empty() ? "a buffer" : name, bytes);
  }
  const FaultRecord& record_;
  const FaultContext& context_;
};

Fault signal_fault(const FaultRecord& record, const Narrator& narrator) {
  const std::string line = narrator.at(record.pc);
  if (record.region == Region::kStack) {
    return {FailureKind::kCrash, "fault",
            fmt::format("stack overflow: {} needs more than the 64 KiB that a thread has on the CPU device{}",
                        narrator.who(), line)};
  }
  if (record.region == Region::kBuffer && record.signal == SIGBUS) {
    return {FailureKind::kOutOfMemory, "fault", fmt::format("no memory behind {}", narrator.place())};
  }
  if (record.region == Region::kBuffer && record.signal == SIGSEGV) {
    const bool inside = record.offset >= 0 && static_cast<std::uint64_t>(record.offset) < record.region_bytes;
    const std::string what = fmt::format("{} {} {}{}", narrator.who(),
                                         record.is_write != 0 ? "writes" : "reads", narrator.place(), line);
    if (inside) return {FailureKind::kOutOfBounds, "guard.input", "write to a read-only input: " + what};
    return {FailureKind::kOutOfBounds, "guard.edge", "out of bounds: " + what};
  }
  std::string message = fmt::format("{} in {}{}", signal_name(record.signal), narrator.who(), line);
  if (record.signal == SIGSEGV) {
    message += record.address == kNoAddress
                   ? ": uses a pointer that cannot be an address (an index or offset that is far too large)"
                   : fmt::format(": {} {:#x}, {}", record.is_write != 0 ? "writes" : "reads", record.address,
                                 narrator.place());
  }
  return {FailureKind::kCrash, "fault", message};
}

Fault race_fault(const FaultRecord& record, const Narrator& narrator) {
  return {FailureKind::kRace, "checked.race",
          fmt::format("race: {} {} {}{}, which thread {} {}{}, with no barrier in between", narrator.who(),
                      record.is_write != 0 ? "writes" : "reads", narrator.place(), narrator.at(record.pc),
                      point(record.other_thread), record.other_is_write != 0 ? "wrote" : "read",
                      narrator.at(record.other_pc))};
}

Fault barrier_fault(const FaultRecord& record, const Narrator& narrator) {
  std::string message = fmt::format("divergent barrier: {} {}{}", narrator.who(), narrator.waits(record.wait),
                                    narrator.at(record.pc));
  if (record.other_wait != Wait::kNone) {
    message += fmt::format(", thread {} {}{}", point(record.other_thread), narrator.waits(record.other_wait),
                           narrator.at(record.other_pc));
  }
  if (record.kind == RecordKind::kDeadlock) message += "; nothing in the block can go on";
  return {FailureKind::kDivergentBarrier, "checked.barrier", message};
}

Fault bounds_fault(const FaultRecord& record, const Narrator& narrator) {
  if (record.note[0] != '\0') {
    return {FailureKind::kOutOfBounds, "checked.bounds",
            fmt::format("out of bounds: {} uses index {} of {}{}", narrator.who(), record.detail,
                        clean(record.note, sizeof(record.note)), narrator.at(record.pc))};
  }
  return {FailureKind::kOutOfBounds, "checked.bounds",
          fmt::format("out of bounds: {} {} {}{}", narrator.who(), narrator.access(record.is_write != 0),
                      narrator.place(), narrator.at(record.pc))};
}

}  // namespace

Fault describe(const FaultRecord& claimed, const FaultContext& context) {
  FaultRecord record = claimed;
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  record.offset = std::clamp(record.offset, -kFar, kFar);
  const Narrator narrator(record, context);
  const std::string note = clean(record.note, sizeof(record.note));
  switch (record.kind) {
    case RecordKind::kSignal:
      return signal_fault(record, narrator);
    case RecordKind::kSystemCall:
      return {FailureKind::kCrash, "fault",
              fmt::format("system call {} from {}{}: kernels have none", record.detail, narrator.who(),
                          narrator.at(record.pc))};
    case RecordKind::kOutOfBounds:
      return bounds_fault(record, narrator);
    case RecordKind::kReadOnlyWrite:
      return {FailureKind::kOutOfBounds, "guard.input",
              fmt::format("write to a read-only input: {} {} {}{}", narrator.who(), narrator.access(true),
                          narrator.place(), narrator.at(record.pc))};
    case RecordKind::kRace:
      return race_fault(record, narrator);
    case RecordKind::kUninitialised:
      return {FailureKind::kUninitialised, "checked.uninit",
              fmt::format("uninitialised: {} {} {}{}, which no thread of the block has written",
                          narrator.who(), narrator.access(false), narrator.place(), narrator.at(record.pc))};
    case RecordKind::kDivergentBarrier:
    case RecordKind::kDeadlock:
      return barrier_fault(record, narrator);
    case RecordKind::kTrap:
      return {FailureKind::kCrash, "fault",
              fmt::format("__trap or a failed assert in {}{}", narrator.who(), narrator.at(record.pc))};
    case RecordKind::kUnsupported:
      return {FailureKind::kUnsupported, "fault", fmt::format("{}{}", note, narrator.at(record.pc))};
    case RecordKind::kLoadFailed:
      return {FailureKind::kCrash, "fault", fmt::format("the module cannot be loaded: {}", note)};
    case RecordKind::kOutOfMemory:
      return {FailureKind::kOutOfMemory, "fault", note.empty() ? std::string("out of memory") : note};
    case RecordKind::kNone:
      break;
  }
  return {FailureKind::kCrash, "fault", "the kernel's process ended with a fault report that makes no sense"};
}

Fault describe(const JailEnd& end, const FaultContext& context) {
  const std::string_view when = end.while_loading ? " while its module was loaded" : "";
  switch (end.kind) {
    case JailEnd::Kind::kRecord:
      return describe(end.record, context);
    case JailEnd::Kind::kExit:
      return {FailureKind::kCrash, "fault",
              fmt::format("the kernel ended its process with exit code {}{}", end.status, when)};
    case JailEnd::Kind::kSignal: {
      const bool memory = end.status == SIGKILL;  // not ours: the kernel's out-of-memory killer
      return {memory ? FailureKind::kOutOfMemory : FailureKind::kCrash, "fault",
              fmt::format("the kernel's process was killed by {}{}{}",
                          signal_name(static_cast<std::uint32_t>(end.status)), when,
                          memory ? " (out of memory?)" : "")};
    }
    case JailEnd::Kind::kTimeout:
      break;
  }
  return {FailureKind::kTimeout, "fault",
          fmt::format("not finished after {} ms{}", context.deadline.count(), when)};
}

}  // namespace ak::cpu
