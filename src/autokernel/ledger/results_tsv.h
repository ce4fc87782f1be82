#pragma once
// results.tsv: the ledger as one tab-separated table, one row a trial, in the columns that spreadsheets and
// scripts of this field expect. docs/reference/workspace.md documents them.

#include <cstdint>
#include <map>
#include <string>

#include "autokernel/base/result.h"
#include "autokernel/ledger/ledger.h"

namespace ak::ledger {

class ResultsTable {
 public:
  /// The whole table with its header. Unknown values are "n/a"; tabs and line ends in texts become blanks.
  /// Rows of finished experiments never change, so they are read from the ledger once.
  Result<std::string> text(const Ledger& ledger);

 private:
  std::map<std::int64_t, std::string> finished_;  // by number
};

}  // namespace ak::ledger
