import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { JournalItem, StoredResponse } from "../../src/store/store.ts";
import { FakeClock } from "../support/clock.ts";
import { keyRecord, openGatewayStore, settleItem, temporaryFolder } from "./fixtures.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function responseOf(keyId: string, overrides: Partial<StoredResponse> = {}): StoredResponse {
  return {
    keyId,
    route: "/v1/messages",
    idempotencyKey: "once",
    bodyHash: "hash",
    status: 200,
    headers: { "content-type": "application/json" },
    body: bytes("tail"),
    storedAtMs: 1_000,
    ...overrides,
  };
}

function part(recordingId: string, sequence: number, text: string): JournalItem {
  return { kind: "part", part: { recordingId, sequence, body: bytes(text) } };
}

test("a long response is put together from its parts; without all of them it does not exist", async () => {
  using folder = temporaryFolder();
  const store = await openGatewayStore(folder.dir, new FakeClock());
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.commit([part("rec_1", 0, "one "), part("rec_1", 1, "two ")]);
  const whole = responseOf(key.id, { recording: { id: "rec_1", parts: 2 } });
  await store.commit([{ ...settleItem(key.id, 1), response: whole }]);
  const lacking = responseOf(key.id, { idempotencyKey: "lacking", recording: { id: "rec_2", parts: 1 } });
  await store.commit([{ ...settleItem(key.id, 1), response: lacking }]);
  const found = await store.findStoredResponse(whole, 0);
  expect(new TextDecoder().decode(found?.body)).toBe("one two tail");
  expect(found?.recording).toBeUndefined();
  expect(await store.findStoredResponse(lacking, 0)).toBeNull();
  await store.close();
});

test("old responses are not found, are pruned a few at a time, and take their parts along", async () => {
  using folder = temporaryFolder();
  const store = await openGatewayStore(folder.dir, new FakeClock());
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.commit([part("rec_1", 0, "one ")]);
  for (const [index, storedAtMs] of [1_000, 2_000, 3_000].entries()) {
    const recording = index === 0 ? { recording: { id: "rec_1", parts: 1 } } : {};
    const response = responseOf(key.id, { idempotencyKey: `key ${index}`, storedAtMs, ...recording });
    await store.commit([{ ...settleItem(key.id, 1), response }]);
  }
  const scope = { keyId: key.id, route: "/v1/messages", idempotencyKey: "key 0" };
  expect(await store.findStoredResponse(scope, 1_000)).not.toBeNull();
  expect(await store.findStoredResponse(scope, 1_001)).toBeNull();
  expect(await store.pruneStoredResponses(3_000, 1)).toBe(1);
  expect(await store.pruneStoredResponses(3_000, 9)).toBe(1);
  expect(await store.pruneStoredResponses(3_000, 9)).toBe(0);
  await store.close();
  const database = new Database(join(folder.dir, "sluice.db"));
  expect(database.query("SELECT idempotency_key AS name FROM responses").all()).toEqual([{ name: "key 2" }]);
  expect(database.query("SELECT * FROM response_parts").all()).toEqual([]);
  database.close();
});

test("parts without a response are dropped when told to, or at the next start", async () => {
  using folder = temporaryFolder();
  const store = await openGatewayStore(folder.dir, new FakeClock());
  await store.commit([part("rec_1", 0, "one"), part("rec_2", 0, "two")]);
  await store.commit([{ kind: "discard", recordingId: "rec_1" }]);
  const database = new Database(join(folder.dir, "sluice.db"));
  const left = () => database.query("SELECT recording_id AS id FROM response_parts").all();
  expect(left()).toEqual([{ id: "rec_2" }]);
  await store.close();
  await (await openGatewayStore(folder.dir, new FakeClock())).close();
  expect(left()).toEqual([]);
  database.close();
});
