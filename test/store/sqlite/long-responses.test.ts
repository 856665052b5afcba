import { expect, test } from "bun:test";
import { FakeClock } from "../../support/clock.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import { responseOf } from "../responses.ts";
import { nowMs, turn, twoKeys } from "../turns.ts";
import { sqlite } from "./kind.ts";

test("of old responses that are long only a few are pruned at once", async () => {
  await using database = await sqlite.create();
  const store = await database.openGateway(new FakeClock());
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  for (const name of ["a", "b", "c"]) {
    const recording = { id: `rec_${name}`, parts: 10 };
    const response = responseOf(key.id, { idempotencyKey: name, recording });
    await store.charge([{ ...settleItem(key.id, 1), response }]);
  }
  const pruned = async () => store.pruneStoredResponses(3_000, 200);
  expect([await pruned(), await pruned(), await pruned()]).toEqual([2, 1, 0]);
  await store.close();
});

test("a settle deletes only a few turns for a long one, and the next settle continues", async () => {
  await using database = await sqlite.create();
  const store = await database.openGateway(new FakeClock());
  const [keyId] = await twoKeys(store);
  const settle = (id: string, bytes: number) => ({
    ...settleItem(keyId, 1),
    turns: [turn(keyId, id, null, { bytes, keyBytes: 3_000 })],
  });
  const left = async () => (await store.turns.sums(keyId, nowMs)).count;
  await store.charge(Array.from({ length: 300 }, (_, place) => settle(`t${place}`, 10)));
  await store.charge([settle("long", 3_000)]);
  expect(await left()).toBe(101);
  await store.charge([settle("next", 0)]);
  expect(await left()).toBe(2);
  expect(await store.turns.find(keyId, "long", nowMs)).not.toBeNull();
  await store.close();
});
