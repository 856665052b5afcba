import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { Store } from "../../../src/store/store.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord } from "../fixtures.ts";

function issue(store: Store, keyId: string, idKeys: readonly string[], provider: string, atMs: number) {
  const credential = provider === "azure" ? "0123456789abcdef" : null;
  return store.recordIssuedIds({ keyId, provider, credential, idKeys, tokens: atMs + 1, atMs });
}

const openai = { provider: "openai", credential: null, tokens: 1001 };
const azure = { provider: "azure", credential: "0123456789abcdef", tokens: 1001 };

testEachStore("an id belongs to the key it was issued to, and is known after a restart", async (database) => {
  const store = await database.openGateway(systemClock);
  const [one, other] = [keyRecord(), keyRecord()];
  await store.insertKey(one, 0);
  await store.insertKey(other, 0);
  await issue(store, one.id, ["a", "b"], "openai", 1000);
  await issue(store, other.id, ["b"], "azure", 1000);
  expect(await store.findIssuedIds(one.id, ["b", "a", "c"])).toEqual([openai, openai, null]);
  expect(await store.findIssuedIds(other.id, ["a", "b"])).toEqual([null, azure]);
  await store.close();
  const again = await database.openGateway(systemClock);
  expect(await again.findIssuedIds(one.id, ["a"])).toEqual([openai]);
  await again.close();
});

testEachStore("a store that closes writes the ids that it got before", async (database) => {
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 0);
  const digests = Array.from({ length: 40 }, (_, index) => `d${index}`);
  const writing = digests.map((digest) => issue(store, key.id, [digest], "openai", 1000));
  await store.close();
  const again = await database.openGateway(systemClock);
  expect(await again.findIssuedIds(key.id, digests)).toEqual(digests.map(() => openai));
  await again.close();
  await Promise.all(writing);
});

testEachStore(
  "the oldest go when they are too old or too many; one that is issued again is young again",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const key = keyRecord();
    await store.insertKey(key, 0);
    await issue(store, key.id, ["a", "b", "c", "d"], "openai", 1000);
    await issue(store, key.id, ["a"], "openai", 2000);
    expect(await store.pruneIssuedIds({ beforeMs: 1000, keep: 100, limit: 100 })).toBe(0);
    expect(await store.pruneIssuedIds({ beforeMs: 1500, keep: 100, limit: 2 })).toBe(2);
    const younger = { ...openai, tokens: 2001 };
    expect(await store.findIssuedIds(key.id, ["a", "b", "c", "d"])).toEqual([younger, null, null, openai]);
    expect(await store.pruneIssuedIds({ beforeMs: 0, keep: 1, limit: 100 })).toBe(1);
    expect(await store.findIssuedIds(key.id, ["a", "d"])).toEqual([younger, null]);
    await store.close();
  },
);
