-- Schema 2: what people and CI lean on later: named baselines, pins, tags, notes, traces; where a run came from.
-- A sum is taken over what its row holds (Checksum) and compared when the row is read; NULL: written by schema 1.

ALTER TABLE run ADD COLUMN environment TEXT NOT NULL DEFAULT '{}' CHECK (environment <> '');  -- JSON, name to value
ALTER TABLE run ADD COLUMN statistics_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE run ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
-- The run whose alerts this one measured again; NULL for a run of its own.
ALTER TABLE run ADD COLUMN parent_id INTEGER REFERENCES run (id) ON DELETE CASCADE;
ALTER TABLE run ADD COLUMN sum INTEGER;           -- of all but status and pinned, which change
ALTER TABLE settings ADD COLUMN sum INTEGER;
ALTER TABLE machine ADD COLUMN sum INTEGER;
CREATE INDEX run_by_parent ON run (parent_id);
CREATE INDEX run_by_machine ON run (machine_id);

ALTER TABLE run_case ADD COLUMN model_hash TEXT NOT NULL DEFAULT '';  -- SHA-256 of the files, or of a built-in's name and shape
ALTER TABLE run_case ADD COLUMN details_sum INTEGER;  -- of the case, its contenders and checks
ALTER TABLE run_case ADD COLUMN samples_sum INTEGER;
CREATE INDEX run_case_by_subject ON run_case (subject);

-- A baseline is one run or several of the same settings; a run cannot be deleted while it stands in one.
CREATE TABLE baseline (
  name    TEXT PRIMARY KEY CHECK (name <> ''),
  created TEXT NOT NULL,
  sum     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE baseline_run (
  name   TEXT NOT NULL REFERENCES baseline (name) ON DELETE CASCADE,
  run_id INTEGER NOT NULL REFERENCES run (id),
  PRIMARY KEY (name, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX baseline_by_run ON baseline_run (run_id);

CREATE TABLE tag (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  tag    TEXT NOT NULL CHECK (tag <> ''),
  sum    INTEGER NOT NULL,
  PRIMARY KEY (run_id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
  id      INTEGER PRIMARY KEY,
  run_id  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  created TEXT NOT NULL,
  text    TEXT NOT NULL,
  sum     INTEGER NOT NULL
) STRICT;
CREATE INDEX note_by_run ON note (run_id);

-- Bytes as they were given (compressed by whoever gave them), several a case.
CREATE TABLE trace (
  id      INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES run_case (id) ON DELETE CASCADE,
  name    TEXT NOT NULL CHECK (name <> ''),
  size    INTEGER NOT NULL,
  bytes   BLOB NOT NULL,
  sum     INTEGER NOT NULL,
  UNIQUE (case_id, name)
) STRICT;
