import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { testEachStore } from "../each-store.ts";

testEachStore(
  "a client's own ids find its exchanges, the newest first, and after a restart",
  async (database) => {
    const store = await database.openGateway(systemClock);
    await store.recordCallerIds([
      { callerId: "a", exchangeId: "req_1", atMs: 1000 },
      { callerId: "b", exchangeId: "req_2", atMs: 1000 },
    ]);
    await store.recordCallerIds([{ callerId: "a", exchangeId: "req_3", atMs: 500 }]);
    expect(await store.reports.exchangesCalled("a", 10)).toEqual(["req_3", "req_1"]);
    expect(await store.reports.exchangesCalled("a", 1)).toEqual(["req_3"]);
    expect(await store.reports.exchangesCalled("A", 10)).toEqual([]);
    await store.close();
    const again = await database.openOperator(systemClock);
    expect(await again.reports.exchangesCalled("b", 10)).toEqual(["req_2"]);
    await again.close();
  },
);

testEachStore(
  "a client's own ids go when they are too old or too many, the oldest first",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const ids = ["a", "b", "c", "d"];
    await store.recordCallerIds(
      ids.map((callerId, at) => ({ callerId, exchangeId: callerId, atMs: at * 10 })),
    );
    const kept = async () =>
      (await Promise.all(ids.map((id) => store.reports.exchangesCalled(id, 1)))).flat().join("");
    expect(await store.pruneCallerIds({ beforeMs: 0, keep: 4, limit: 100 })).toBe(0);
    expect(await store.pruneCallerIds({ beforeMs: 20, keep: 4, limit: 1 })).toBe(1);
    expect(await kept()).toBe("bcd");
    expect(await store.pruneCallerIds({ beforeMs: 20, keep: 4, limit: 100 })).toBe(1);
    expect(await kept()).toBe("cd");
    expect(await store.pruneCallerIds({ beforeMs: 0, keep: 1, limit: 100 })).toBe(1);
    expect(await kept()).toBe("d");
    await store.close();
  },
);
