#include "autokernel/ledger/schema.h"

namespace ak::ledger {

namespace {

constexpr const char* kVersion1 = R"sql(
CREATE TABLE kernels (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE targets (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  target TEXT NOT NULL,   -- JSON of core's Target
  toml TEXT NOT NULL      -- its target.toml
);

CREATE TABLE experiments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,   -- numbers are shown to users and never used twice
  target TEXT NOT NULL REFERENCES targets (id),
  tag TEXT NOT NULL,
  proposer TEXT NOT NULL,
  description TEXT NOT NULL,
  kernel_hash TEXT NOT NULL REFERENCES kernels (hash),
  result_hash TEXT NOT NULL REFERENCES kernels (hash),
  commit_id TEXT NOT NULL DEFAULT '',
  decision TEXT NOT NULL CHECK (decision IN ('running', 'kept', 'reverted', 'ambiguous', 'failed', 'start')),
  best_config TEXT,       -- JSON
  objective_us REAL NOT NULL DEFAULT 0,
  confirmation TEXT,      -- JSON
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  seed TEXT NOT NULL,     -- 64 unsigned bits, in decimal
  device TEXT NOT NULL,   -- JSON of core's DeviceInfo
  device_uuid TEXT NOT NULL,
  compiler TEXT NOT NULL,
  version TEXT NOT NULL,
  sandboxed INTEGER NOT NULL,
  verdict TEXT            -- JSON
);
CREATE INDEX experiments_of_target ON experiments (target, kernel_hash);

CREATE TABLE trials (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  experiment INTEGER NOT NULL REFERENCES experiments (id),
  problem_id TEXT NOT NULL,
  config TEXT NOT NULL,   -- JSON
  passed INTEGER NOT NULL,
  failure TEXT,           -- JSON: stage, kind, check, message
  median_us REAL,
  ci_low_us REAL,
  ci_high_us REAL,
  versus TEXT,            -- JSON
  peak_memory_bytes REAL NOT NULL,
  gbps REAL NOT NULL,
  tflops REAL NOT NULL,
  compile_s REAL NOT NULL,
  wall_s REAL NOT NULL,
  recorded_at TEXT NOT NULL,
  facts TEXT NOT NULL     -- JSON of TrialFacts
);
CREATE INDEX trials_of_experiment ON trials (experiment);

CREATE TABLE state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
)sql";

constexpr const char* kMigrations[] = {kVersion1};

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }

}  // namespace ak::ledger
