-- Schema 1. Times are microseconds per run; NULL means "not known"; times of day are ISO 8601 in UTC. facts, json, shape
-- and plan hold JSON (json_valid() may not stand in a CHECK while the schema is not trusted).
-- A speed-up can only belong to a case that passed: rows under a case carry its verdict through a compound foreign key,
-- so that a CHECK can see it and a later change of the verdict is refused while a speed-up stands.

CREATE TABLE machine (
  id    INTEGER PRIMARY KEY,
  key   TEXT NOT NULL,                            -- hash of the stable facts
  facts TEXT NOT NULL CHECK (facts <> ''),
  UNIQUE (key, facts)
) STRICT;

CREATE TABLE settings (
  id   INTEGER PRIMARY KEY,
  json TEXT NOT NULL UNIQUE CHECK (json <> '')
) STRICT;

CREATE TABLE run (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL UNIQUE CHECK (uid <> ''),   -- the same in every database the run is copied to
  started      TEXT NOT NULL,
  command_line TEXT NOT NULL,
  preset       TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  git_commit   TEXT NOT NULL,
  settings_id  INTEGER NOT NULL REFERENCES settings (id),
  machine_id   INTEGER NOT NULL REFERENCES machine (id),
  device       TEXT NOT NULL,
  threads      INTEGER NOT NULL,
  label        TEXT NOT NULL,
  origin       TEXT NOT NULL CHECK (origin IN ('measured', 'imported')),
  status       TEXT NOT NULL CHECK (status IN ('running', 'done', 'interrupted', 'failed'))
) STRICT;
CREATE INDEX run_by_settings ON run (settings_id);

CREATE TABLE run_case (
  id                INTEGER PRIMARY KEY,
  run_id            INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  key               TEXT NOT NULL,
  subject           TEXT NOT NULL,
  kind              TEXT NOT NULL,
  n                 INTEGER NOT NULL,
  shape             TEXT NOT NULL CHECK (shape <> ''),
  device            TEXT NOT NULL,
  dtype             TEXT NOT NULL,
  mode              TEXT NOT NULL,
  strategy          TEXT NOT NULL,
  verdict           TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'skipped', 'error', 'oom', 'timeout')),
  reason            TEXT NOT NULL,
  speedup           REAL,
  speedup_low       REAL,
  speedup_high      REAL,
  best_rival        TEXT NOT NULL,
  best_speedup      REAL,
  best_speedup_low  REAL,
  best_speedup_high REAL,
  noise             REAL,
  noise_low         REAL,
  noise_high        REAL,
  rounds            INTEGER NOT NULL,
  stop_reason       TEXT NOT NULL,
  compile_us        REAL,
  first_run_us      REAL,
  peak_memory_bytes INTEGER,
  plan              TEXT NOT NULL CHECK (plan <> ''),
  started           TEXT NOT NULL,
  seconds           REAL,
  seed              INTEGER NOT NULL,                    -- 64 bits, read as unsigned
  load_1min         REAL,
  cpu_mhz           REAL,
  UNIQUE (run_id, key),
  UNIQUE (id, verdict),
  CHECK (verdict = 'pass' OR (speedup IS NULL AND speedup_low IS NULL AND speedup_high IS NULL)),
  CHECK (verdict = 'pass' OR (best_speedup IS NULL AND best_speedup_low IS NULL AND best_speedup_high IS NULL)),
  CHECK (speedup IS NULL OR speedup > 0),
  CHECK (best_speedup IS NULL OR best_speedup > 0)
) STRICT;

-- place 0 is wide, then the rivals in order.
CREATE TABLE contender (
  case_id      INTEGER NOT NULL,
  case_verdict TEXT NOT NULL,
  place        INTEGER NOT NULL CHECK (place >= 0),
  name         TEXT NOT NULL,
  median_us    REAL,
  ci_low_us    REAL,
  ci_high_us   REAL,
  min_us       REAL,
  iqr_us       REAL,
  mad_us       REAL,
  outliers     INTEGER NOT NULL,
  samples      INTEGER NOT NULL,
  first_run_us REAL,
  speedup      REAL,
  speedup_low  REAL,
  speedup_high REAL,
  PRIMARY KEY (case_id, place),
  UNIQUE (case_id, name),
  FOREIGN KEY (case_id, case_verdict) REFERENCES run_case (id, verdict) ON UPDATE CASCADE ON DELETE CASCADE,
  CHECK (case_verdict = 'pass' OR (speedup IS NULL AND speedup_low IS NULL AND speedup_high IS NULL)),
  CHECK (speedup IS NULL OR (speedup > 0 AND place > 0))
) STRICT, WITHOUT ROWID;

-- A case passes only when all its checks did, and an error that is unknown (NULL) or infinite is no pass.
CREATE TABLE check_result (
  case_id      INTEGER NOT NULL,
  case_verdict TEXT NOT NULL,
  place        INTEGER NOT NULL,
  what         TEXT NOT NULL,
  member       TEXT NOT NULL,
  max_abs_err  REAL,
  max_rel_err  REAL,
  tolerance    REAL,
  passed       INTEGER NOT NULL CHECK (passed IN (0, 1)),
  text         TEXT NOT NULL,
  PRIMARY KEY (case_id, place),
  FOREIGN KEY (case_id, case_verdict) REFERENCES run_case (id, verdict) ON UPDATE CASCADE ON DELETE CASCADE,
  CHECK (passed = 1 OR case_verdict <> 'pass'),
  CHECK (passed = 0 OR (max_abs_err IS NOT NULL AND max_abs_err < 9e999))
) STRICT, WITHOUT ROWID;

-- Every sample, in the order it was taken. contender: its place, or one past the last rival for the A/A twin of wide.
CREATE TABLE sample (
  case_id      INTEGER NOT NULL REFERENCES run_case (id) ON DELETE CASCADE,
  number       INTEGER NOT NULL,
  contender    INTEGER NOT NULL,
  round        INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  iterations   INTEGER NOT NULL,
  microseconds REAL,
  PRIMARY KEY (case_id, number)
) STRICT, WITHOUT ROWID;
