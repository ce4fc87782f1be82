// Runs a fuzz target without a fuzzer: every file of its corpus, then seeded mutations of them, the same ones
// on every machine. An input that crashes, aborts or takes more than ten seconds is written to
// crash-<seed>-<index>.
//
//   fuzz_expr tests/fuzz/corpus/expr [--mutations 3000] [--seed 1]

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

constexpr unsigned kSecondsPerInput = 10;
constexpr std::size_t kMaxBytes = 1 << 16;

using Input = std::string;

// What the signal handler writes: set before each input, plain data only.
const char* current_data = nullptr;
std::size_t current_size = 0;
char crash_file[64];

void write_crash() {
  const int fd = ::open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  std::size_t done = 0;
  while (done < current_size) {
    const ssize_t n = ::write(fd, current_data + done, current_size - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  ::close(fd);
  constexpr char kMessage[] = "\nthe input was written to ";
  (void)!::write(2, kMessage, sizeof kMessage - 1);
  (void)!::write(2, crash_file, std::strlen(crash_file));
  (void)!::write(2, "\n", 1);
}

void on_signal(int signal) {
  write_crash();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run_one(const Input& input, std::uint64_t seed, long index) {
  std::snprintf(crash_file, sizeof crash_file, "crash-%llu-%ld", static_cast<unsigned long long>(seed),
                index);
  // An exact copy on the heap, so that a sanitizer sees reads beyond the end.
  std::vector<uint8_t> copy(input.begin(), input.end());
  current_data = input.data();
  current_size = input.size();
  ::alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  ::alarm(0);
}

/// std::mt19937_64 is the same everywhere, the distributions of <random> are not.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  Input mutate(const std::vector<Input>& corpus) {
    Input text = corpus[below(corpus.size())];
    for (std::size_t i = 0, n = 1 + below(6); i < n; ++i) change(text, corpus[below(corpus.size())]);
    if (text.size() > kMaxBytes) text.resize(kMaxBytes);
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void change(Input& text, const Input& other) {
    static constexpr const char* kInteresting[] = {"0",
                                                   "-1",
                                                   "9223372036854775807",
                                                   "18446744073709551616",
                                                   "\"",
                                                   "\\",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "(",
                                                   ")",
                                                   ",",
                                                   "\n",
                                                   "1e999",
                                                   "nan",
                                                   "\xff\xfe",
                                                   "/*",
                                                   "*/",
                                                   "%"};
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(text.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 4:
        text.insert(at, kInteresting[below(std::size(kInteresting))]);
        break;
      case 5:
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      default:
        text.resize(at);
        break;
    }
  }

  std::mt19937_64 random_;
};

std::vector<Input> read_corpus(const std::vector<std::string>& arguments) {
  std::vector<std::filesystem::path> files;
  for (const std::string& argument : arguments) {
    if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument))
        if (entry.is_regular_file()) files.push_back(entry.path());
    } else if (std::filesystem::exists(argument)) {
      files.emplace_back(argument);
    } else {
      std::fprintf(stderr, "no corpus at %s\n", argument.c_str());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  long mutations = 3000;
  std::uint64_t seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutations" && i + 1 < argc)
      mutations = std::atol(argv[++i]);
    else if (argument == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else
      paths.push_back(argument);
  }
  std::vector<Input> corpus = read_corpus(paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "the corpus is empty: a fuzz target needs at least one example\n");
    return 1;
  }
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGALRM}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(write_crash);

  for (std::size_t i = 0; i < corpus.size(); ++i) run_one(corpus[i], 0, static_cast<long>(i));
  run_one("", 0, -1);
  Mutator mutator(seed);
  for (long i = 0; i < mutations; ++i) run_one(mutator.mutate(corpus), seed, i);
  std::printf("%zu files and %ld mutations of seed %llu\n", corpus.size(), mutations,
              static_cast<unsigned long long>(seed));
  return 0;
}
