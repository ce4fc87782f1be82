#pragma once
// Versions of the ledger's tables. A new version is one more entry in kMigrations; nothing that was released
// is ever edited.

#include <span>

namespace ak::ledger {

/// "AKLG": tells a ledger from any other SQLite file.
inline constexpr int kApplicationId = 0x414b4c47;

/// Statement lists; entry i takes the schema from version i to i + 1.
std::span<const char* const> migrations();

inline int schema_version() { return static_cast<int>(migrations().size()); }

}  // namespace ak::ledger
