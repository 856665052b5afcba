-- What the audit has to know of the past: which account a key drew on until when, and the periods that an account's budget had before.
CREATE TABLE key_moves (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  key_no INTEGER NOT NULL,
  account_no INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX key_moves_by_key ON key_moves (key_no, no);

CREATE TABLE past_periods (
  account_no INTEGER NOT NULL,
  period TEXT NOT NULL,
  PRIMARY KEY (account_no, period)
) STRICT, WITHOUT ROWID;

-- The sums of attempts once more, by day alone: a row of `attempt_sums` that is missing or was changed shows.
CREATE TABLE attempt_days (
  day INTEGER NOT NULL,
  node_no INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  counted_input_tokens INTEGER NOT NULL,
  counted_output_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  PRIMARY KEY (day, node_no)
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_days SELECT day, node_no, sum(attempts), sum(estimated), sum(input_tokens), sum(cached_input_tokens),
  sum(cache_write_tokens), sum(output_tokens), sum(counted_input_tokens), sum(counted_output_tokens), sum(cost_nano)
FROM attempt_sums GROUP BY day, node_no;
