#include "autokernel/device/cpu/text_edits.h"

#include <algorithm>

namespace ak::cpu {

std::string TextEdits::apply() {
  std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) {
    return a.offset != b.offset ? a.offset<b.offset : (a.length == 0)>(b.length == 0);
  });
  std::string out;
  out.reserve(text_.size() + 256);
  std::size_t done = 0;
  for (const Edit& edit : edits_) {
    if (edit.offset < done || edit.offset > text_.size()) continue;
    out += text_.substr(done, edit.offset - done);
    out += edit.replacement;
    const std::string_view removed = text_.substr(edit.offset, edit.length);
    out.append(static_cast<std::size_t>(std::count(removed.begin(), removed.end(), '\n')), '\n');
    done = edit.offset + removed.size();
  }
  out += text_.substr(done);
  return out;
}

}  // namespace ak::cpu
