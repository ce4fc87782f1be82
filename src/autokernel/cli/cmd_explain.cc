// explain: what a failure kind or a check means and what to do; the sections of docs/reference/verdict.md,
// which the binary carries, so that the two cannot differ.

#include <nlohmann/json.hpp>

#include "autokernel/cli/commands.h"
#include "autokernel/embed/verdict_reference.h"

namespace ak::cli {
namespace {

struct Section {
  std::vector<std::string> names;  ///< "race", or several that share a section
  std::string text;
};

/// `[text](place)` becomes `text`: there is nothing to click on in a terminal.
std::string without_links(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    const std::size_t middle = open == text.npos ? text.npos : text.find("](", open);
    const std::size_t close = middle == text.npos ? text.npos : text.find(')', middle);
    if (close == text.npos || text.substr(open, middle - open).find('\n') != text.npos) {
      const std::size_t taken = open == text.npos || close == text.npos ? text.size() : open + 1;
      plain += text.substr(0, taken);
      text.remove_prefix(taken);
      continue;
    }
    plain += text.substr(0, open);
    plain += text.substr(open + 1, middle - open - 1);
    text.remove_prefix(close + 1);
  }
  return plain;
}

/// The `### ` sections of the page.
std::vector<Section> sections() {
  std::vector<Section> found;
  std::string_view page = embed::verdict_reference().front().text;
  for (bool inside = false; !page.empty();) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    if (line.starts_with("### ")) {
      Section section;
      for (std::string_view rest = line.substr(4); !rest.empty();) {
        const std::size_t comma = rest.find(", ");
        section.names.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 2);
      }
      found.push_back(std::move(section));
    }
    if (line.starts_with("#")) inside = line.starts_with("### ");
    if (inside && !line.starts_with("#") && !line.starts_with("<a id")) {
      found.back().text += std::string(line) + "\n";
    }
  }
  for (Section& section : found) {
    while (section.text.ends_with("\n\n")) section.text.pop_back();
    section.text = without_links(section.text);
  }
  return found;
}

}  // namespace

Result<int> run_explain(Session& session, const ExplainOptions& options) {
  std::string known;
  for (const Section& section : sections()) {
    for (const std::string& name : section.names) {
      known += (known.empty() ? "" : ", ") + name;
      if (name != options.topic) continue;
      if (session.options().json) {
        session.print_json({{"schema", 1}, {"name", name}, {"text", section.text}});
      } else {
        session.print(section.text);
      }
      return 0;
    }
  }
  return usage_error("nothing is called `{}`; failure kinds and checks are {}", options.topic, known);
}

}  // namespace ak::cli
