-- What the sums do not count yet, found by its ids. The planner cannot guess how little that is while the bound is the
-- result of a subquery: it takes it for a third of the ledger, and may read all of it. So the bound is a literal here.
-- Stable, so that it sees what the calling query sees.
CREATE FUNCTION sluice_uncounted_usage() RETURNS SETOF uncounted_usage LANGUAGE plpgsql STABLE ROWS 1000 AS $$
DECLARE
  last rollups%ROWTYPE;
BEGIN
  SELECT * INTO last FROM rollups;
  RETURN QUERY EXECUTE format(
    'SELECT * FROM entry_figures WHERE id > %s UNION ALL SELECT * FROM ending_figures WHERE id > %s',
    last.entries_through, last.endings_through);
END $$;
