#include "autokernel/report/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autokernel/base/text_table.h"
#include "autokernel/report/tables.h"
#include "autokernel/report/text.h"

namespace ak::report {
namespace {

using Align = TextTable::Align;

double distance(double a, double b) { return std::abs(std::log(a / b)); }

std::string why_none(const ModelReport& model) {
  if (model.device_kind != "cuda") {
    return "a rehearsal on the CPU device, with sizes reduced to fit: it shows that the kernels are right "
           "and what "
           "the search does, and says nothing of the model's time on a GPU";
  }
  if (model.trace_device.empty())
    return "the plan does not say on which GPU the model was profiled: plan its trace again";
  if (model.trace_device != model.device_name) {
    return fmt::format("the model was profiled on `{}`, the kernels were measured on `{}`",
                       model.trace_device, model.device_name);
  }
  const bool torch = std::any_of(model.sites.begin(), model.sites.end(),
                                 [](const SiteRow& row) { return !row.torch_us.empty(); });
  if (!torch)
    return "PyTorch's own times were not measured on this device (autokernel optimize measures them)";
  return "";
}

void project_site(SiteRow& row) {
  const double call_us = row.calls > 0 ? row.model_us / row.calls : 0;
  if (!row.best_us) {
    row.answer = "no kernel of ours was measured";
    return;
  }
  if (row.torch_us.empty()) {
    row.answer = "PyTorch was not timed on it";
    return;
  }
  const std::optional<std::string> path = path_in_model(row.torch_us, call_us);
  if (!path) {
    row.answer = fmt::format("a call takes {} in the model, which none of PyTorch's ways does in the harness",
                             time_text(call_us));
    return;
  }
  row.path = *path;
  row.ratio = row.torch_us.at(*path) / *row.best_us;
  row.answer = *row.ratio > kAsFast ? "faster" : *row.ratio >= 1 / kAsFast ? "as fast" : "slower";
  if (row.answer == "faster") row.after_us = row.model_us / *row.ratio;
}

std::string us_or_dash(const std::optional<double>& us) { return us ? time_text(*us) : "-"; }

std::string torch_text(const SiteRow& row) {
  if (!row.path.empty()) return fmt::format("{} ({})", time_text(row.torch_us.at(row.path)), row.path);
  return row.torch_us.empty() ? "-" : "?";
}

Table site_table(const ModelReport& model) {
  constexpr std::ptrdiff_t kOurs = 5;  // the columns from here on are of our kernels
  const bool reduced = std::any_of(model.sites.begin(), model.sites.end(),
                                   [](const SiteRow& row) { return !row.reduced.empty(); });
  Table table{{"site", "problem", "calls", "all calls in the model", "share", "starter, a call",
               "best, a call", "start / best", "trials", "spent", "became"},
              {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft},
              {}};
  if (reduced) {
    table.header.insert(table.header.begin() + kOurs, "measured here, reduced");
    table.align.insert(table.align.begin() + kOurs, Align::kLeft);
  }
  for (const SiteRow& row : model.sites) {
    std::vector<std::string> cells = {row.site,
                                      row.problem,
                                      fmt::format("{:g}", row.calls),
                                      time_text(row.model_us),
                                      fmt::format("{:.1f} %", 100 * row.share),
                                      us_or_dash(row.start_us),
                                      us_or_dash(row.best_us),
                                      row.start_us ? ratio_text(row.speedup) : "-",
                                      std::to_string(row.trials),
                                      fmt::format("{:.0f} s", row.spent_s),
                                      row.verdict};
    if (reduced) cells.insert(cells.begin() + kOurs, row.reduced.empty() ? "-" : row.reduced);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table projection_table(const ModelReport& model) {
  Table table{{"site", "a call in the model", "PyTorch in the harness", "ours in the harness",
               "PyTorch / ours", "all calls now", "all calls projected", "ours is"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft},
              {}};
  for (const SiteRow& row : model.sites) {
    table.rows.push_back({row.site, row.calls > 0 ? time_text(row.model_us / row.calls) : "-",
                          torch_text(row), us_or_dash(row.best_us), row.ratio ? ratio_text(*row.ratio) : "-",
                          time_text(row.model_us), time_text(row.after_us), row.answer});
  }
  return table;
}

std::string conclusion(const ModelReport& model) {
  if (!model.projected) return "No time of the model is projected: " + model.no_projection + ".";
  if (model.after_us >= model.total_us) {
    return fmt::format(
        "Projected: nothing is gained. The model's device time stays {}: no kernel of ours is faster "
        "than what the model runs today.",
        time_text(model.total_us));
  }
  return fmt::format(
      "Projected (until the kernels run in the model): its device time goes from {} to {}, {} the "
      "speed. A site gains where our kernel beats, in the harness and from the same caches, the way "
      "that PyTorch computes it in the model; its time in the trace is divided by that ratio. "
      "Everything was measured on {}.",
      time_text(model.total_us), time_text(model.after_us), ratio_text(model.total_us / model.after_us),
      model.device_name);
}

std::string plain(const Table& table) {
  TextTable text(table.header, table.align);
  for (const auto& row : table.rows) text.add_row(row);
  return text.plain();
}

}  // namespace

std::optional<std::string> path_in_model(const std::map<std::string, double>& torch_us, double call_us) {
  std::optional<std::string> nearest;
  if (call_us <= 0) return nearest;
  for (const char* path : {"eager", "fused"}) {
    const auto time = torch_us.find(path);
    if (time == torch_us.end() || distance(time->second, call_us) > std::log(kSamePath)) continue;
    if (!nearest) {
      nearest = path;
      continue;
    }
    const double before = torch_us.at(*nearest);
    const double gain = distance(before, call_us) - distance(time->second, call_us);
    if (gain > 0 || (gain == 0 && time->second < before)) nearest = path;
  }
  return nearest;
}

void project(ModelReport& model) {
  for (SiteRow& row : model.sites) row.after_us = row.model_us;
  model.after_us = model.total_us;
  model.no_projection = why_none(model);
  model.projected = model.no_projection.empty();
  if (!model.projected) return;
  for (SiteRow& row : model.sites) {
    project_site(row);
    model.after_us -= row.model_us - row.after_us;
  }
}

std::string terminal(const ModelReport& model) {
  std::string text = "the model\n" + plain(site_table(model));
  if (model.projected) text += "\nprojection\n" + plain(projection_table(model));
  return text + "\n" + conclusion(model) + "\n";
}

std::string markdown(const ModelReport& model) {
  std::string text = "## The model\n\n" + markdown_table(site_table(model)) + "\n";
  if (model.projected) text += "### Projection\n\n" + markdown_table(projection_table(model)) + "\n";
  return text + escape_markdown(conclusion(model)) + "\n\n";
}

std::string html(const ModelReport& model) {
  std::string text = "<h2>The model</h2>\n" + html_table(site_table(model));
  if (model.projected) text += "<h3>Projection</h3>\n" + html_table(projection_table(model));
  return text + fmt::format("<p>{}</p>\n", escape_xml(conclusion(model)));
}

Json to_json(const ModelReport& model) {
  if (!model.projected) return {};
  Json sites = Json::array();
  for (const SiteRow& row : model.sites) {
    const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
    sites.push_back({{"site", row.site},
                     {"calls", static_cast<std::int64_t>(std::llround(row.calls))},
                     {"model_us", row.model_us},
                     {"path", row.path.empty() ? Json() : Json(row.path)},
                     {"torch_us", row.torch_us},
                     {"ours_us", number(row.best_us)},
                     {"ratio", number(row.ratio)},
                     {"projected_us", row.after_us},
                     {"answer", row.answer}});
  }
  return {{"device", model.device_name},
          {"before_us", model.total_us},
          {"projected_us", model.after_us},
          {"speedup", model.after_us > 0 ? Json(model.total_us / model.after_us) : Json()},
          {"sites", std::move(sites)}};
}

}  // namespace ak::report
