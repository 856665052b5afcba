import { describe, expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { testEachStore } from "../each-store.ts";

const secret = { hash: "ab", keyId: "key_1", endsAtMs: 10_000, amountLeft: 100 };

describe("a store's secrets of the playground", () => {
  testEachStore("are found until they end, and deleted by the next one after that", async (database) => {
    await using store = await database.openGateway(systemClock).then((opened) => ({
      playground: opened.admin.playground,
      [Symbol.asyncDispose]: () => opened.close(),
    }));
    const { playground } = store;
    await playground.begin(secret, 0);
    expect(await playground.find("ab", 9_999)).toEqual(secret);
    expect(await playground.find("ab", 10_000)).toBeNull();
    expect(await playground.find("cd", 0)).toBeNull();
    await playground.begin({ ...secret, hash: "cd", endsAtMs: 20_000 }, 10_000);
    expect(await playground.find("ab", 0)).toBeNull();
  });

  testEachStore("spend their amount once, however many take of it at the same time", async (database) => {
    await using store = await database.openGateway(systemClock).then((opened) => ({
      playground: opened.admin.playground,
      [Symbol.asyncDispose]: () => opened.close(),
    }));
    const { playground } = store;
    await playground.begin(secret, 0);
    const left = await Promise.all(Array.from({ length: 5 }, () => playground.take("ab", 30)));
    expect(left.toSorted()).toEqual([10, 10, null, null, null]);
    await playground.giveBack("ab", 25);
    expect(await playground.take("ab", 36)).toBe(35);
    expect(await playground.take("ab", 35)).toBeNull();
    expect(await playground.take("cd", 1)).toBe(0);
  });
});
