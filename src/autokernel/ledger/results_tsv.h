#pragma once
// results.tsv: the ledger as one tab-separated table, one row a trial, in the columns that spreadsheets and
// scripts of this field expect. docs/reference/workspace.md documents them.

#include <string>

#include "autokernel/base/result.h"
#include "autokernel/ledger/ledger.h"

namespace ak::ledger {

/// The whole table with its header. Unknown values are "n/a"; tabs and line ends in texts become blanks.
Result<std::string> results_tsv(const Ledger& ledger);

}  // namespace ak::ledger
