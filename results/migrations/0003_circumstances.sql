-- Schema 3: what a case was measured under (load, regime, warm-up, spread between processes), so that times of a busy
-- machine are known for such. JSON, fields that are not known left out; no row: nothing is known.

CREATE TABLE circumstances (
  case_id INTEGER PRIMARY KEY REFERENCES run_case (id) ON DELETE CASCADE,
  json    TEXT NOT NULL CHECK (json <> ''),
  sum     INTEGER NOT NULL
) STRICT;
CREATE INDEX run_case_by_key ON run_case (key);  -- how much processes differ is asked case by case
