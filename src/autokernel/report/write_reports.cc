#include "autokernel/base/file.h"
#include "autokernel/report/report.h"

namespace ak::report {

Result<ReportPaths> write_reports(const ledger::Workspace& workspace, const BuildOptions& options) {
  AK_TRY(report, build(workspace.ledger(), options));
  if (report.targets.empty()) {
    return usage_error("the workspace {} has no experiments to report: run autokernel tune first",
                       workspace.folder().string());
  }
  const std::filesystem::path folder = workspace.reports_folder();
  AK_TRY_VOID(ak::create_directories(folder));
  const ReportPaths paths{folder / "report.md", folder / "report.html", folder / "progress.svg"};
  const std::vector<Series>& series = report.targets.front().series;
  AK_TRY_VOID(write_file_atomic(paths.progress, progress_svg(series.empty() ? Series{} : series.front())));
  AK_TRY_VOID(write_file_atomic(paths.markdown, markdown(report)));
  AK_TRY_VOID(write_file_atomic(paths.html, html(report)));
  return paths;
}

}  // namespace ak::report
