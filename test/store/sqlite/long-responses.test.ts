import { expect, test } from "bun:test";
import { FakeClock } from "../../support/clock.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import { responseOf } from "../responses.ts";
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
