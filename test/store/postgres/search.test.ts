import { expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { openStore } from "../../../src/store/open.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { keyRecord } from "../fixtures.ts";
import { migratedDatabase, runIn } from "./fixtures.ts";

/** More than a search examines at once. */
const entries = 60_000;

test.skipIf(!hasPostgres)(
  hasPostgres
    ? "a search back to a time does not end at a row whose clock was years behind"
    : withoutPostgres,
  async () => {
    await using database = await migratedDatabase();
    const location = { url: database.url, password: null, prepare: true };
    const store = await openStore({ location, clock: systemClock, role: "operator" });
    const key = keyRecord();
    await store.insertKey(key, 0);
    const nowMs = Date.now();
    await runIn(
      database,
      `INSERT INTO entries (id, month, account_no, key_no, kind, amount, at_ms, exchange_id, basis, outcome, recorded_at_ms, route, model,
        provider, upstream_model, stream, status, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
        reasoning_tokens, cost_nano, total_ms, attempts)
      SELECT n, sluice_month(${nowMs}), account_no, no, 'charge', -1, CASE n WHEN 10000 THEN 0 ELSE ${nowMs - entries} + n END, 'req_' || n,
        'measured', 'completed', ${nowMs}, '/v1/messages', CASE n WHEN 5 THEN 'rare' ELSE 'usual' END, 'p', 'm', false, 200, 1, 0, 0, 1,
        0, 1, 5, 1
      FROM generate_series(1, ${entries}) AS n, keys`,
    );
    await runIn(database, `SELECT setval('entries_id_seq', ${entries})`);
    const asked = { limit: 9, model: "rare", sinceMs: nowMs - 3_600_000, untilMs: nowMs };
    const found: string[] = [];
    // A busy machine may need several pages for it, because a search gives up after a while and says where it goes on.
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const page = await store.reports.exchanges({ ...asked, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.rows.map(({ model }) => model));
      cursor = page.next;
    }
    expect(found).toEqual(["rare"]);
    await store.close();
  },
  60_000,
);
