import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { attempt, served, times } from "../attempts.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf } from "../fixtures.ts";

testEachStore(
  "attempts that nobody paid for are added up by day, credential, model and ending",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const key = keyRecord();
    await store.insertKey(key, 0);
    const endings = [outcomeRecordOf(key.id)];
    const uncharged = attempt({ outcome: "uncharged", owedNanoUsd: 0 });
    const other = { ...uncharged, credential: "" };
    await store.recordOutcomes(endings, [{ ...uncharged, day: 20_000 }]);
    await store.recordOutcomes(endings, [
      { ...times(2, uncharged), day: 20_000 },
      { ...other, day: 20_000 },
      { ...uncharged, day: 20_001 },
      { ...uncharged, day: 20_002 },
      { ...uncharged, provider: "anthropic", day: 20_000 },
    ]);
    await store.recordOutcomes(endings);
    expect((await Array.fromAsync(store.reports.attemptPages("openai", 20_000, 20_001))).flat()).toEqual([
      { ...other, day: 20_000 },
      { ...times(3, uncharged), day: 20_000 },
      { ...uncharged, day: 20_001 },
    ]);
    expect((await Array.fromAsync(store.reports.attemptPages("openai", 19_000, 19_999))).flat()).toEqual([]);
    expect((await Array.fromAsync(store.reports.attemptPages(served.credential, 0, 30_000))).flat()).toEqual(
      [],
    );
    await store.close();
  },
);
