-- Reports tell accounts and routes apart: their views are made anew by 016.sql.
DROP VIEW IF EXISTS uncounted_usage;
DROP VIEW IF EXISTS usage_rows;
