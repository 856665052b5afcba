import { expect } from "bun:test";
import { readAlerts } from "../../src/alerts/read-alerts.ts";
import { msPerDay } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import type { NewValueCap } from "../../src/store/store.ts";
import { maxListedValues } from "../../src/store/tables/value-alerts.ts";
import { testEachStore } from "../store/each-store.ts";
import { keyRecord, settleItem } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";

function capOf(more: Partial<NewValueCap>): NewValueCap {
  return {
    ...{ id: newId("cap_"), keyId: null, accountId: null, mode: "credit", label: "owner", value: null },
    ...{ limit: 100, period: "day", models: null, isOptional: false, maxValues: 10_000 },
    ...{ thenModel: null, thenAlways: false },
    ...more,
  };
}

testEachStore("values are found at 80, 95 and 100 % of what limits them, never before", async (database) => {
  const clock = new FakeClock();
  const nowMs = clock.wallMs();
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 10_000);
  const spend = (owner: string, amount: number, more: object = {}) => {
    const labels = JSON.stringify({ owner, ...more });
    return settleItem(key.id, amount, { atMs: nowMs, countedAtMs: nowMs, labels });
  };
  await store.charge([
    ...[spend("ada", 79), spend("ben", 95), spend("cho", 159), spend("dee", 80)],
    ...[spend("eve", 120, { user: "u1" }), spend("fay", 80), spend("gus", 160)],
  ]);
  const each = await store.insertValueCap(capOf({}), nowMs);
  // In place of the one for each.
  const own = capOf({ value: "fay" });
  await store.insertValueCap(own, nowMs);
  await store.insertValueCap(capOf({ value: "dee", limit: 1_000 }), nowMs);
  const byUser = capOf({ label: "user", isOptional: true, period: "month", models: "house-*", limit: 600 });
  await store.insertValueCap(byUser, nowMs);
  await store.raiseValueCap(each.id, 100, "cho", nowMs);
  await store.raiseValueCap(each.id, 100, "gus", nowMs);
  const found = async (atMs = nowMs) =>
    (await readAlerts(store, atMs)).active.filter(({ subject }) => subject.type === "cap");
  expect((await found()).map(({ subject: { id }, part, level }) => [id, part, level])).toEqual([
    [each.id, "ben", 95],
    [each.id, "eve", 100],
    [each.id, "gus", 80],
    [own.id, "fay", 80],
    [byUser.id, "", 100],
  ]);
  const [ben, ...others] = await found();
  expect(ben).toMatchObject({
    kind: "cap_threshold",
    subject: { type: "cap", id: each.id, label: "Owner ben" },
    text: "Owner ben has used 95% of its daily cap: 9.5e-8 of 1e-7 credits.",
    details: { value: "ben", level: 95, key: null, account: null, period: "day" },
  });
  expect(others.at(-1)).toMatchObject({
    text: expect.stringMatching(/^Traffic without a user has used up its monthly cap for house-\*: /),
    details: { value: null },
  });
  // Tomorrow only the month counts.
  expect((await found(nowMs + msPerDay)).map(({ part }) => part)).toEqual([""]);
  await store.close();
});

testEachStore(
  "a hundred values of a cap are listed, and a cap without many places left",
  async (database) => {
    const clock = new FakeClock();
    const nowMs = clock.wallMs();
    const store = await database.openGateway(clock);
    const key = keyRecord();
    await store.insertKey(key, 100_000);
    const spend = (n: number) => {
      const labels = JSON.stringify({ owner: "", user: `u${n}` });
      return settleItem(key.id, 90, { atMs: nowMs, countedAtMs: nowMs, labels });
    };
    await store.charge(Array.from({ length: 104 }, (_, n) => spend(n)));
    const few = capOf({ label: "user", keyId: key.id, maxValues: 130 });
    await store.insertValueCap(few, nowMs);
    await store.insertValueCap(
      capOf({ label: "user", limit: 1_000, isOptional: true, maxValues: 131 }),
      nowMs,
    );
    const ofKind = async (kind: string) =>
      (await readAlerts(store, nowMs)).active.filter((alert) => alert.kind === kind);
    expect(await ofKind("cap_threshold")).toHaveLength(maxListedValues);
    expect((await ofKind("not_listed")).map(({ details }) => details)).toEqual([{ more: 4 }]);
    expect(await ofKind("cap_values")).toMatchObject([
      {
        subject: { type: "cap", id: few.id },
        level: 80,
        text: `The cap ${few.id} counts 104 of at most 130 values of user. It rejects new ones beyond that.`,
        details: { key: key.id, values: 104, most: 130 },
      },
    ]);
    await store.close();
  },
);
