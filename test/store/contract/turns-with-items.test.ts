import { expect } from "bun:test";
import type { ItemsQuery } from "../../../src/store/turn-records.ts";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { chainOf, keep, nowMs, turn, turnsWith, twoKeys } from "../turns.ts";

testEachStore(
  "the newest turn of each item is found once, for its key and until it expires",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, other] = await twoKeys(store);
    await keep(store, turn(one, "a", null), turn(one, "b", "a"), turn(other, "x", null));
    const withItems = (keyId: string, items: readonly string[], at = nowMs, maxBytes = 20) =>
      turnsWith(store, keyId, { items, nowMs: at, maxBytes });
    expect(await withItems(one, ["item of all", "item of b", "item of x"])).toEqual(["body of b"]);
    expect(await withItems(one, ["item of all", "item of a"])).toEqual(["body of a", "body of b"]);
    expect(await withItems(other, ["item of a"])).toEqual([]);
    expect(await withItems(one, ["item of a"], 2_000)).toEqual([]);
    expect(await withItems(one, ["item of all", "item of a"], nowMs, 19)).toBe("too_large");
    const byId = (keyId: string, turnIds: readonly string[], at = nowMs) =>
      turnsWith(store, keyId, { items: ["item of b"], turnIds, nowMs: at });
    expect(await byId(one, ["a", "b", "x", "unknown"])).toEqual(["body of a", "body of b"]);
    expect(await byId(other, ["a"])).toEqual([]);
    expect(await byId(one, ["a"], 2_000)).toEqual([]);
    await store.close();
  },
);

testEachStore(
  "no more turns are read by their items or ids than one request may have, however short they are",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one] = await twoKeys(store);
    const ids = ["a", "b", "c", "d"];
    await keep(store, ...ids.map((id) => turn(one, id, null)));
    const items = ids.map((id) => `item of ${id}`);
    const reserved: number[] = [];
    const reserve = (bytes: number) => void reserved.push(bytes);
    const found = (query: Partial<ItemsQuery>) => turnsWith(store, one, { reserve, ...query });
    expect(await found({ items, maxTurns: 3 })).toBe("too_many");
    expect(await found({ items: items.slice(2), turnIds: ids.slice(0, 2), maxTurns: 3 })).toBe("too_many");
    // All of them together have at most twice what a request may have, whatever each may have in addition.
    expect(await found({ items, maxBytes: 19, headBytes: 1_000 })).toBe("too_large");
    expect(await chainOf(store, one, "d", { maxBytes: 4, headBytes: 1_000 })).toBe("too_large");
    expect(reserved).toEqual([]);
    expect(await found({ items, turnIds: ids, maxTurns: 4 })).toHaveLength(4);
    expect(await found({ items, maxBytes: 20, headBytes: 1_000 })).toHaveLength(4);
    expect(reserved).toEqual([40, 20]);
    await store.close();
  },
);

testEachStore("an item that very many turns have is found in the newest of them", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const others = Array.from({ length: 2_500 }, (_, place) => `item ${place}`);
  await keep(
    store,
    turn(one, "a", null, { items: others }),
    turn(one, "b", null, { items: others.slice(1) }),
  );
  expect(await turnsWith(store, one, { items: ["unknown", ...others] })).toEqual(["body of a", "body of b"]);
  expect(await turnsWith(store, one, { items: others.slice(1) })).toEqual(["body of b"]);
  await store.close();
});
