import { describe, expect } from "bun:test";
import { labelsText, readLabels } from "../../../src/base/labels.ts";
import { makeRates } from "../../../src/base/rates.ts";
import type { ExchangeQuery } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { exchangeEnding, keyRecord, settleItem } from "../fixtures.ts";

const ada = {
  user: "ada",
  session: 's \u{1f600} "1"',
  tags: { project: "atlas", "a.b": "c:d@e" },
  affinity: "none",
} as const;
const bob = { user: "bob", session: null, tags: {}, affinity: "conversation" } as const;

describe("what a caller says about a request", () => {
  testEachStore("is kept with its charge and with its ending, and can be searched for", async (database) => {
    const store = await database.openGateway(new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    const charged = settleItem(key.id, 10, { labels: labelsText(ada) });
    const nameless = settleItem(key.id, 10);
    const refused = exchangeEnding(key.id, { labels: labelsText(bob) });
    const failed = settleItem(key.id, 10, { labels: labelsText(ada), outcome: "failed" });
    const { exchangeId } = failed.charge;
    const ending = exchangeEnding(key.id, { exchangeId, outcome: "failed", labels: labelsText(ada) });
    await store.charge([charged, nameless, { ...failed, ending }]);
    await store.recordEndings([refused]);

    const labelsOf = async (id: string) => (await store.reports.exchange(id, null))?.exchange?.labels;
    expect(await labelsOf(charged.charge.exchangeId)).toEqual(ada);
    expect(await labelsOf(nameless.charge.exchangeId)).toEqual(readLabels(null));
    expect(await labelsOf(refused.exchangeId)).toEqual(bob);
    expect(await labelsOf(exchangeId)).toEqual(ada);

    const found = async (labels: ExchangeQuery["labels"]) => {
      const { rows } = await store.reports.exchanges({ limit: 10, labels });
      return rows.map((row) => row.exchangeId).sort();
    };
    const adas = [charged.charge.exchangeId, exchangeId].sort();
    expect(await found({ user: "ada" })).toEqual(adas);
    expect(await found({ session: ada.session, "tag:a.b": "c:d@e" })).toEqual(adas);
    expect(await found({ "tag:project": "atlas", user: "bob" })).toEqual([]);
    expect(await found({ user: "bob" })).toEqual([refused.exchangeId]);
    await store.close();
  });

  testEachStore("survives strings that a database could not read", async (database) => {
    const store = await database.openGateway(new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    const odd = {
      user: "a\0b\ud800",
      session: "\u{1f600}".repeat(200),
      tags: {},
      affinity: "conversation",
    } as const;
    const item = settleItem(key.id, 10, { labels: labelsText(odd) });
    await store.charge([item]);
    const { rows } = await store.reports.exchanges({ limit: 10, labels: { user: "ab\ufffd" } });
    expect(rows.map(({ labels }) => labels.session)).toEqual(["\u{1f600}".repeat(128)]);
    await store.close();
  });
});

testEachStore("what caching has saved is summed up, before and after it is rolled up", async (database) => {
  const clock = new FakeClock();
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 10_000);
  const picoUsd = { input: 1_000_000, cached_input: 100_000, cache_write: 1_250_000, output: 2_000_000 };
  const rates = makeRates({ microUsdPerCredit: 1_000_000, picoUsd, tiers: [], inputAbove: null });
  const charges = [
    { input: 10, cached_input: 90 },
    { input: 10, cache_write: 100 },
    { input: 100, output: 5 },
  ];
  await store.charge(charges.map((quantities) => settleItem(key.id, 10, { rates, quantities })));
  const savings = async (reader: typeof store) => {
    const [figures] = await reader.summarizeUsage({ by: "model", sinceMs: 0 });
    return figures?.cacheSavingsNano;
  };
  // 90 tokens at 0.9 less, and 100 at 0.25 more, in thousands of nano-credits.
  expect(await savings(store)).toBe(90 * 900 - 100 * 250);
  await store.close();
  const reopened = await database.openGateway(clock);
  expect(await savings(reopened)).toBe(90 * 900 - 100 * 250);
  expect(await reopened.auditSums(clock.wallMs())).toEqual([]);
  await reopened.close();
});
