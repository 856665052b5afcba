import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { RequestLogRetention } from "../../../src/store/request-log-retention.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf, settleItem } from "../fixtures.ts";

testEachStore("operators are told how much there is, and what retention deleted last", async (database) => {
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 5_000_000_000);
  await store.charge([settleItem(key.id, 1000)]);
  const nowMs = systemClock.wallMs();
  const old = Array.from({ length: 3 }, () => outcomeRecordOf(key.id, { atMs: nowMs - 7_200_000 }));
  await store.recordOutcomes([...old, outcomeRecordOf(key.id, { atMs: nowMs })]);
  expect(await store.storage()).toMatchObject({
    accounts: 1,
    keys: 1,
    loggedRequests: 4,
    responses: 0,
    prunings: [],
  });
  const { databaseBytes, journalBytes } = await store.storage();
  expect(databaseBytes + (journalBytes ?? 0)).toBeGreaterThan(10_000);
  let requestsMs = 3_600_000;
  const retention = new RequestLogRetention({
    store,
    clock: systemClock,
    limits: () => ({ requestsMs, requestRows: 1000 }),
    onError: (error) => {
      throw error;
    },
  });
  await retention.prune();
  const { loggedRequests, prunings, entries } = await store.storage();
  expect([loggedRequests, prunings]).toMatchObject([1, [{ what: "exchanges", pruned: 3 }]]);
  expect(entries).toBe(2);
  requestsMs = -1000;
  await retention.prune();
  expect(await store.storage()).toMatchObject({ loggedRequests: 0, prunings: [{ pruned: 1 }] });
  await store.close();
});
