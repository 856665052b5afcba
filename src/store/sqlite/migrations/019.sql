-- What retention deleted last, for operators.
CREATE TABLE prunings (what TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, pruned INTEGER NOT NULL) STRICT, WITHOUT ROWID;
