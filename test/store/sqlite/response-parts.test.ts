import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { FakeClock } from "../../support/clock.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { responseOf, responsePart } from "../responses.ts";
import { openGatewayStore } from "./fixtures.ts";

test("responses that are pruned take their parts along", async () => {
  using folder = temporaryFolder();
  const store = await openGatewayStore(folder.dir, new FakeClock());
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.recordResponsePart(responsePart("rec_1", 0, "one "));
  for (const [index, storedAtMs] of [1_000, 2_000, 3_000].entries()) {
    const recording = index === 0 ? { recording: { id: "rec_1", parts: 1 } } : {};
    const response = responseOf(key.id, { idempotencyKey: `key ${index}`, storedAtMs, ...recording });
    await store.commit([{ ...settleItem(key.id, 1), response }]);
  }
  expect(await store.pruneStoredResponses(3_000, 9)).toBe(2);
  await store.close();
  const database = new Database(join(folder.dir, "sluice.db"));
  expect(database.query("SELECT idempotency_key AS name FROM responses").all()).toEqual([{ name: "key 2" }]);
  expect(database.query("SELECT * FROM response_parts").all()).toEqual([]);
  database.close();
});

test("parts without a response are dropped when told to, or at the next start", async () => {
  using folder = temporaryFolder();
  const store = await openGatewayStore(folder.dir, new FakeClock());
  await store.recordResponsePart(responsePart("rec_1", 0, "one"));
  await store.recordResponsePart(responsePart("rec_2", 0, "two"));
  await store.commit([{ kind: "discard", recordingId: "rec_1" }]);
  const database = new Database(join(folder.dir, "sluice.db"));
  const left = () => database.query("SELECT recording_id AS id FROM response_parts").all();
  expect(left()).toEqual([{ id: "rec_2" }]);
  await store.close();
  await (await openGatewayStore(folder.dir, new FakeClock())).close();
  expect(left()).toEqual([]);
  database.close();
});
