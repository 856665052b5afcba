import { expect } from "bun:test";
import { capsOfAccounts, capsOfKeys } from "../../../src/admin/key-terms/bound-caps.ts";
import { msPerDay } from "../../../src/base/clock.ts";
import { knownBounds } from "../../../src/ledger/bound-value-caps.ts";
import type { NewValueCap } from "../../../src/store/store.ts";
import { testEachStore } from "../../store/each-store.ts";
import { keyRecord, settleItem } from "../../store/fixtures.ts";
import { FakeClock } from "../../support/clock.ts";

function capOf(id: string, more: Partial<NewValueCap>): NewValueCap {
  return {
    ...{ id, keyId: null, accountId: null, mode: "credit", label: "owner", value: null },
    ...{ limit: 100e9, period: "day", models: null, isOptional: false, maxValues: 10_000 },
    ...{ thenModel: null, thenAlways: false },
    ...more,
  };
}

testEachStore("a key has the caps that hold for it, with what its own value has used", async (database) => {
  const clock = new FakeClock();
  const nowMs = clock.wallMs();
  const store = await database.openGateway(clock);
  const [ada, other, nobody] = [
    keyRecord({ owner: "Ada@example.com", tags: { project: "atlas" } }),
    keyRecord({ owner: "ben" }),
    keyRecord({ mode: "token_budget", owner: "ada@example.com", period: "day" }),
  ];
  for (const key of [ada, other, nobody]) await store.insertKey(key, key.mode === "credit" ? 90e9 : 0);
  await store.updateAccount(other.accountId, { tags: { team: "blue" } });
  const labels = { owner: "ada@example.com", user: "u1", "tag:project": "atlas" };
  const charge = { atMs: nowMs, countedAtMs: nowMs, labels: JSON.stringify(labels) };
  await store.charge([settleItem(ada.id, 30e9, charge)]);
  const within = { keyId: ada.id };
  const account = { accountId: ada.accountId };
  const team = { label: "tag:team", isOptional: true };
  for (const cap of [
    capOf("cap_each", {}),
    capOf("cap_ben", { value: "ben", limit: 50e9 }),
    capOf("cap_month", { period: "month", models: "house-*", thenModel: "small" }),
    capOf("cap_atlas", { label: "tag:project", value: "atlas" }),
    capOf("cap_zephyr", { label: "tag:project", value: "zephyr" }),
    capOf("cap_user", { label: "user", ...within }),
    capOf("cap_u1", { label: "user", value: "u1", ...within }),
    capOf("cap_anyone", { label: "user", value: "u1" }),
    capOf("cap_team", team),
    capOf("cap_inside", { label: "tag:team", ...account }),
    capOf("cap_tokens", { mode: "token_budget" }),
  ])
    await store.insertValueCap(cap, nowMs);
  await store.raiseValueCap("cap_each", 5e9, "ada@example.com", nowMs);
  const context = { store, clock };
  const known = async (...keys: (typeof ada)[]) => {
    const found = await Promise.all(keys.map(({ id }) => store.findKey(id)));
    return capsOfKeys(
      context,
      found.flatMap((key) => key ?? []),
    );
  };
  const [ofAda = [], ofBen = [], ofTokens = []] = await known(ada, other, nobody);
  const short = (caps: typeof ofAda) => caps.map(({ cap, value, used, limit }) => [cap, value, used, limit]);
  expect(short(ofAda)).toEqual([
    ["cap_each", "ada@example.com", 30, 105],
    ["cap_month", "ada@example.com", 30, 100],
    ["cap_atlas", "atlas", 30, 100],
    ["cap_user", null, null, 100],
    ["cap_u1", "u1", 30, 100],
    ["cap_team", null, null, 100],
    ["cap_inside", null, null, 100],
  ]);
  expect(ofAda[0]).toMatchObject({ label: "owner", raised_by: 5, period: "day", then: null });
  expect(ofAda[1]).toMatchObject({ models: "house-*", then: "small" });
  // Ben has a cap of his own in place of the one for each.
  expect(short(ofBen)).toEqual([
    ["cap_ben", "ben", 0, 50],
    ["cap_month", "ben", 0, 100],
    ["cap_team", "blue", 0, 100],
  ]);
  expect(short(ofTokens)).toEqual([["cap_tokens", "ada@example.com", 0, 100e9]]);
  const accounts = await Promise.all([ada, other].map(({ accountId }) => store.findAccount(accountId)));
  const ofAccounts = await capsOfAccounts(
    context,
    accounts.flatMap((each) => each ?? []),
  );
  expect(ofAccounts.map(short)).toEqual([[["cap_inside", null, null, 100]], [["cap_team", "blue", 0, 100]]]);
  const [tightest] = await knownBounds(store, ada, nowMs);
  expect(tightest).toMatchObject({ bound: "owner_cap", value: "ada@example.com", left: 75e9 });
  clock.advance(msPerDay);
  expect(short((await known(ada))[0] ?? []).slice(0, 2)).toEqual([
    ["cap_each", "ada@example.com", 0, 100],
    ["cap_month", "ada@example.com", 30, 100],
  ]);
  await store.close();
});
