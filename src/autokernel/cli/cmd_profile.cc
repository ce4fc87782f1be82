#include "autokernel/cli/commands.h"
#include "autokernel/cli/model_profile.h"
#include "autokernel/cli/planning.h"

namespace ak::cli {

Result<int> run_profile(Session& session, const ProfileOptions& options) {
  AK_TRY(planned, plan_of_model(session, options.model));
  AK_TRY(workspace, session.open_workspace());
  AK_TRY_VOID(store_plan(session, workspace, planned));
  print_plan(session, planned, options.top);
  return 0;
}

}  // namespace ak::cli
