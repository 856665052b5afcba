import { expect } from "bun:test";
import type { StoredResponse } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import { responseOf, responsePart } from "../responses.ts";

testEachStore(
  "a long response is put together from its parts; without all of them it does not exist",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    await store.recordResponsePart(responsePart("rec_1", 0, "one "));
    await store.recordResponsePart(responsePart("rec_1", 1, "two "));
    const whole = responseOf(key.id, { recording: { id: "rec_1", parts: 2 } });
    await store.charge([{ ...settleItem(key.id, 1), response: whole }]);
    const lacking = responseOf(key.id, { idempotencyKey: "lacking", recording: { id: "rec_2", parts: 1 } });
    await store.charge([{ ...settleItem(key.id, 1), response: lacking }]);
    const found = await store.findStoredResponse(whole, 0);
    expect(new TextDecoder().decode(found?.body)).toBe("one two tail");
    expect(found?.recording).toBeUndefined();
    expect(await store.findStoredResponse(lacking, 0)).toBeNull();
    await store.close();
  },
);

testEachStore("old responses are not found, and are pruned a few at a time", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.recordResponsePart(responsePart("rec_1", 0, "one "));
  for (const [index, storedAtMs] of [1_000, 2_000, 3_000].entries()) {
    const recording = index === 0 ? { recording: { id: "rec_1", parts: 1 } } : {};
    const response = responseOf(key.id, { idempotencyKey: `key ${index}`, storedAtMs, ...recording });
    await store.charge([{ ...settleItem(key.id, 1), response }]);
  }
  const scope = { keyId: key.id, route: "/v1/messages", idempotencyKey: "key 0" };
  expect(await store.findStoredResponse(scope, 1_000)).not.toBeNull();
  expect(await store.findStoredResponse(scope, 1_001)).toBeNull();
  expect(await store.pruneStoredResponses(3_000, 1)).toBe(1);
  expect(await store.pruneStoredResponses(3_000, 9)).toBe(1);
  expect(await store.pruneStoredResponses(3_000, 9)).toBe(0);
  const left = ["key 0", "key 1", "key 2"].map((idempotencyKey) =>
    store.findStoredResponse({ ...scope, idempotencyKey }, 0),
  );
  expect((await Promise.all(left)).map((response) => response?.storedAtMs ?? null)).toEqual([
    null,
    null,
    3_000,
  ]);
  await store.close();
});

testEachStore(
  "the bytes that a key keeps for retries are known, and counted in what is stored",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [key, other] = [keyRecord(), keyRecord()];
    await store.insertKey(key, 1_000);
    await store.insertKey(other, 1_000);
    expect(await store.retryBytes(key.id)).toBe(0);
    await store.recordResponsePart(responsePart("rec_1", 0, "one "));
    const recording = { id: "rec_1", parts: 1, bytes: 4 };
    const keep = (keyId: string, given: Partial<StoredResponse>) =>
      store.charge([{ ...settleItem(keyId, 1), response: responseOf(keyId, given) }]);
    await keep(key.id, { idempotencyKey: "long", recording });
    await keep(key.id, { idempotencyKey: "short", storedAtMs: 3_000 });
    await keep(other.id, {});
    expect(await store.retryBytes(key.id)).toBe(12);
    expect(await store.storage()).toMatchObject({ retryResponses: 3, retryResponseBytes: 16 });
    await store.pruneStoredResponses(3_000, 9);
    expect(await store.retryBytes(key.id)).toBe(4);
    expect(await store.retryBytes(other.id)).toBe(0);
    await store.close();
  },
);
