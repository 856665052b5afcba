import { expect } from "bun:test";
import { readAlerts } from "../../src/alerts/read-alerts.ts";
import { msPerDay } from "../../src/base/clock.ts";
import { maxListed } from "../../src/store/tables/alert-records.ts";
import { testEachStore } from "../store/each-store.ts";
import { keyRecord, settleItem } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";

const unlisted = 3;

testEachStore(
  "of each kind a thousand findings are listed, and how many more there are",
  async (database) => {
    const clock = new FakeClock();
    const nowMs = clock.wallMs();
    const store = await database.openGateway(clock);
    const keys = Array.from({ length: maxListed + unlisted }, () =>
      keyRecord({ createdAtMs: nowMs - 30 * msPerDay, expiresAtMs: nowMs + msPerDay }),
    );
    // All at once would wait for the database longer than a statement may when other tests run too.
    for (let first = 0; first < keys.length; first += 50)
      await Promise.all(keys.slice(first, first + 50).map((key) => store.insertKey(key, 100)));
    await store.charge(keys.map(({ id }) => settleItem(id, 90, { atMs: nowMs, countedAtMs: nowMs })));

    const { active: found } = await readAlerts(store, nowMs);
    const ofKind = (kind: string) => found.filter((finding) => finding.kind === kind);
    expect(ofKind("balance_threshold")).toHaveLength(maxListed);
    expect(ofKind("key_expiring")).toHaveLength(maxListed);
    expect(ofKind("not_listed").map(({ text, details }) => [text, details])).toEqual([
      ["3 more balances, budgets and caps are nearly used up; at most 1,000 are listed.", { more: unlisted }],
      ["3 more keys expire within 7 days; at most 1,000 are listed.", { more: unlisted }],
    ]);
    expect(found.at(-1)?.kind).toBe("not_listed");
    await store.close();
  },
  120_000,
);
