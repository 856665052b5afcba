import { describe, expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord } from "../fixtures.ts";
import type { TestDatabase } from "../kind.ts";

const grant = {
  deviceHash: "ab",
  userCode: "BCDF-GHJK",
  address: "192.0.2.1",
  addressBlock: "192.0.2.1",
  device: "laptop",
  purpose: "sign_in",
  client: "agent",
  mode: "token_budget",
  createdAtMs: 1_000,
  endsAtMs: 901_000,
} as const;
const terms = { intervalMs: 5_000, max: 3, maxPerBlock: 3, forgetBeforeMs: 0 };
const approved = { state: "approved", identity: `{"user":"ada"}`, nowMs: 2_000 } as const;

async function devicesOf(database: TestDatabase) {
  const store = await database.openGateway(systemClock);
  return { devices: store.admin.devices, [Symbol.asyncDispose]: () => store.close() };
}

describe("a store's device grants", () => {
  testEachStore("are decided about once and claimed once, however many ask", async (database) => {
    await using opened = await devicesOf(database);
    const { devices } = opened;
    const { addressBlock: _, ...stored } = grant;
    expect(await devices.begin(grant, terms)).toBe(true);
    expect(await devices.findByDevice("ab")).toEqual({
      ...stored,
      state: "pending",
      polledAtMs: null,
      intervalMs: 5_000,
    });
    expect(await devices.findPending("BCDF-GHJK", 2_000)).toMatchObject({ address: "192.0.2.1" });
    expect(await devices.findPending("BCDF-GHJK", 901_000)).toBeNull();
    expect(await devices.claim("ab", 2_000)).toBeNull();
    expect(await devices.decide("BCDF-GHJK", { ...approved, nowMs: 901_000 })).toBe(false);
    const decided = await Promise.all([1, 2].map(() => devices.decide("BCDF-GHJK", approved)));
    expect(decided.toSorted()).toEqual([false, true]);
    expect(await devices.findPending("BCDF-GHJK", 2_000)).toBeNull();
    const claimed = await Promise.all([1, 2, 3].map(() => devices.claim("ab", 2_000)));
    expect(claimed.filter((identity) => identity !== null)).toEqual([approved.identity]);
    expect(await devices.findByDevice("ab")).toMatchObject({ state: "used" });
  });

  testEachStore("are no more than so many, have codes of their own, and are forgotten", async (database) => {
    await using opened = await devicesOf(database);
    const { devices } = opened;
    expect(await devices.begin(grant, terms)).toBe(true);
    expect(await devices.begin({ ...grant, deviceHash: "cd" }, terms)).toBe(false);
    for (const code of ["c", "d"]) {
      expect(await devices.begin({ ...grant, deviceHash: code, userCode: code }, terms)).toBe(true);
    }
    const next = { ...grant, deviceHash: "e", userCode: "e" };
    expect(await devices.begin(next, terms)).toBe(false);
    expect(await devices.begin(next, { ...terms, forgetBeforeMs: 901_001 })).toBe(true);
    expect(await devices.findByDevice("ab")).toBeNull();
  });

  testEachStore(
    "of one block of addresses leave room for the others, and expired ones use none",
    async (database) => {
      await using opened = await devicesOf(database);
      const { devices } = opened;
      const perBlock = { ...terms, max: 3, maxPerBlock: 2 };
      const begin = (code: string, addressBlock: string, createdAtMs = 1_000) =>
        devices.begin(
          {
            ...grant,
            deviceHash: code,
            userCode: code,
            addressBlock,
            createdAtMs,
            endsAtMs: createdAtMs + 900_000,
          },
          perBlock,
        );
      expect([await begin("a", "one"), await begin("b", "one"), await begin("c", "one")]).toEqual([
        true,
        true,
        false,
      ]);
      expect([await begin("d", "two"), await begin("e", "three")]).toEqual([true, false]);
      // A decided one waits no longer.
      await devices.decide("a", approved);
      expect(await begin("f", "one")).toBe(true);
      expect(await begin("g", "one", 901_000)).toBe(true);
    },
  );

  testEachStore("keep whose sign-in a key ends with, and since when it is lost", async (database) => {
    const store = await database.openGateway(systemClock);
    const { devices } = store.admin;
    const [one, other] = [keyRecord({}), keyRecord({})];
    for (const key of [one, other]) await store.insertKey(key, 0);
    await devices.bindKey({ keyId: one.id, person: "proxy ada", identity: "1" });
    await devices.bindKey({ keyId: other.id, person: "proxy bob", identity: "2" });
    await devices.updateIdentity("proxy ada", "3");
    const bound = { statusBefore: null, status: "active", isForSignIns: false } as const;
    const ofAda = { ...bound, keyId: one.id, identity: "3", prefix: one.prefix };
    const ofBob = { ...bound, keyId: other.id, identity: "2", prefix: other.prefix };
    expect((await devices.listBoundKeys()).toSorted((a, b) => (a.identity < b.identity ? 1 : -1))).toEqual([
      ofAda,
      ofBob,
    ]);
    expect(await devices.listBoundKeys("proxy bob")).toEqual([ofBob]);
    await devices.recordLostSignIn(other.id, "active", 5_000);
    await devices.recordLostSignIn(other.id, "suspended", 6_000);
    expect(await store.alerts.lostSignInsSince(0)).toBe(0);
    await store.updateKey(other.id, { status: "suspended" });
    expect(await devices.findBoundKeys([other.id])).toEqual([
      { keyId: other.id, identity: "2", statusBefore: "active", isForSignIns: false },
    ]);
    expect([await store.alerts.lostSignInsSince(5_000), await store.alerts.lostSignInsSince(5_001)]).toEqual([
      1, 0,
    ]);
    const replaced = [
      await devices.replaceStatusBefore(other.id, "suspended"),
      await devices.replaceStatusBefore(other.id, "suspended"),
      await devices.replaceStatusBefore(one.id, "suspended"),
    ];
    expect(replaced).toEqual([true, false, false]);
    expect(await devices.findBoundKeys([other.id])).toMatchObject([{ statusBefore: "suspended" }]);
    await devices.recordSignIn(other.id);
    expect(await devices.listBoundKeys("proxy bob")).toEqual([{ ...ofBob, status: "suspended" }]);
    expect(await store.alerts.lostSignInsSince(0)).toBe(0);
    await devices.unbindKey(one.id);
    expect(await devices.listBoundKeys("proxy ada")).toEqual([]);
    await store.close();
  });
});
