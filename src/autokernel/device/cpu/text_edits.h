#pragma once
// Edits of a text by offset, applied together. The number of lines never changes: newlines that an edit would
// remove are kept behind its replacement.

#include <string>
#include <string_view>
#include <vector>

namespace ak::cpu {

class TextEdits {
 public:
  /// The text must outlive the edits.
  explicit TextEdits(std::string_view text) : text_(text) {}
  void replace(std::size_t offset, std::size_t length, std::string replacement) {
    edits_.push_back({offset, length, std::move(replacement)});
  }
  void insert(std::size_t offset, std::string text) { replace(offset, 0, std::move(text)); }
  /// An edit inside an earlier, wider one is dropped; insertions go in front of replacements at the same
  /// offset.
  std::string apply();

 private:
  struct Edit {
    std::size_t offset;
    std::size_t length;
    std::string replacement;
  };
  std::string_view text_;
  std::vector<Edit> edits_;
};

}  // namespace ak::cpu
