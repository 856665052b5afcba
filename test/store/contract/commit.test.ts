import { describe, expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { testEachJournal } from "../each-journal.ts";
import { keyRecord, settleItem } from "../fixtures.ts";

describe("a batch", () => {
  testEachJournal("is one transaction for all that wait in a turn of the event loop", async (database) => {
    const sizes: number[] = [];
    const store = await database.openGateway(systemClock, (inner) => ({
      write(items, isAlone) {
        if (items.length > 0) sizes.push(items.length);
        return inner.write(items, isAlone);
      },
    }));
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    await Promise.all(Array.from({ length: 50 }, () => store.commit([settleItem(key.id, 2)])));
    expect(sizes).toEqual([50]);
    expect(store.stats).toMatchObject({ pendingItems: 0, failedBatches: 0 });
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 900, requests: 50 });
    await store.close();
  });

  testEachJournal("is not spoilt by a commit that can never be written", async (database) => {
    const store = await database.openGateway(systemClock);
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    const outcomes = await Promise.allSettled([
      store.commit([settleItem(key.id, 1)]),
      store.commit([settleItem("key_unknown", 1)]),
      store.commit([settleItem(key.id, 2)]),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 997, requests: 2 });
    expect(store.stats.pendingItems).toBe(0);
    expect(store.healthy).toBe(true);
    await store.close();
  });
});
