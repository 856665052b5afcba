import { describe, expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { NewSignIn } from "../../../src/store/store.ts";
import { testEachStore } from "../each-store.ts";
import type { TestDatabase } from "../kind.ts";

const terms = { maxPerPerson: 2, forgetBeforeMs: 0 };

function signIn(id: string, at: number, person = "proxy bob"): NewSignIn {
  return {
    id,
    keyId: "key_1",
    person,
    name: "bob@example.com",
    client: "Claude Code",
    device: null,
    address: "192.0.2.7",
    beganAtMs: at,
    usedAtMs: at,
    access: [{ hash: `access ${id}`, endsAtMs: at + 1000 }],
    familyHash: `family ${id}`,
    refreshHash: `refresh ${id}`,
  };
}

async function opened(database: TestDatabase) {
  const store = await database.openGateway(systemClock);
  return { store, signIns: store.admin.signIns, [Symbol.asyncDispose]: () => store.close() };
}

describe("a store's sign-ins", () => {
  testEachStore(
    "come back as they were stored, and each change is a change for other gateways",
    async (database) => {
      await using on = await opened(database);
      const { familyHash, refreshHash, ...stored } = signIn("a", 1_000);
      const open = { ...stored, endedAtMs: null, endReason: null };
      const before = await on.store.currentRevision();
      expect(await on.signIns.begin(signIn("a", 1_000), terms)).toEqual([]);
      expect(await on.signIns.findByFamily(familyHash)).toEqual({
        ...open,
        ...{ refreshHash, formerHash: null, formerResponse: null },
      });
      expect(await on.signIns.findByFamily(refreshHash)).toBeNull();
      const { revision, signIns } = await on.store.changesSince(before);
      expect(signIns).toEqual([open]);
      const next = {
        ...{ refreshHash: "second", formerHash: refreshHash, formerResponse: "sealed" },
        ...{ usedAtMs: 2_000, access: [{ hash: "b", endsAtMs: 3_000 }] },
      };
      expect(await on.signIns.refresh("a", refreshHash, next)).toBe(true);
      expect(await on.signIns.refresh("a", refreshHash, next)).toBe(false);
      expect(await on.signIns.findByFamily(familyHash)).toEqual({ ...open, ...next });
      const { access, usedAtMs } = next;
      expect((await on.store.changesSince(revision)).signIns).toEqual([{ ...open, access, usedAtMs }]);
      const ended = { ...open, access, usedAtMs, endedAtMs: 4_000, endReason: "revoked" as const };
      expect(await on.signIns.end(["a", "none"], "revoked", 4_000)).toEqual([ended]);
      expect(await on.signIns.end(["a"], "signed_out", 5_000)).toEqual([]);
      expect(await on.signIns.refresh("a", "second", next)).toBe(false);
      expect((await on.store.load()).signIns).toEqual([ended]);
      // What it was answered with is of no more use.
      expect((await on.signIns.findByFamily(familyHash))?.formerResponse).toBeNull();
    },
  );

  testEachStore("are refreshed once, however many try at the same time", async (database) => {
    await using on = await opened(database);
    await on.signIns.begin(signIn("a", 1_000), terms);
    const next = { formerHash: null, formerResponse: null, usedAtMs: 2_000, access: [] };
    const tried = await Promise.all(
      [1, 2, 3, 4].map((no) => on.signIns.refresh("a", "refresh a", { ...next, refreshHash: `next ${no}` })),
    );
    expect(tried.toSorted()).toEqual([false, false, false, true]);
  });

  testEachStore(
    "of a person are no more than so many, and are forgotten some time after their end",
    async (database) => {
      await using on = await opened(database);
      await on.signIns.begin(signIn("a", 1_000), terms);
      await on.signIns.begin(signIn("b", 2_000), terms);
      await on.signIns.begin(signIn("x", 500, "proxy ada"), terms);
      const replaced = await on.signIns.begin(signIn("c", 3_000), terms);
      expect(replaced).toMatchObject([{ id: "a", endReason: "replaced", endedAtMs: 3_000 }]);
      expect((await on.signIns.list("proxy bob")).map(({ id }) => id)).toEqual(["c", "b", "a"]);
      await on.signIns.end(["b"], "reused", 9_000);
      expect([
        await on.store.alerts.reusedSignInsSince(9_000),
        await on.store.alerts.reusedSignInsSince(9_001),
      ]).toEqual([1, 0]);
      await on.signIns.begin(signIn("d", 8_000), { ...terms, forgetBeforeMs: 3_001 });
      expect((await on.signIns.list()).map(({ id }) => id)).toEqual(
        ["d", "c", "b"].filter((id) => id !== "c"),
      );
    },
  );

  testEachStore("of a person have one key, however many sign in at the same time", async (database) => {
    await using on = await opened(database);
    const { signIns } = on;
    expect(await signIns.findKeyId("proxy bob")).toBeNull();
    const bind = (keyId: string) => signIns.bindKey({ keyId, person: "proxy bob", identity: "{}" });
    const bound = new Set(await Promise.all(["k1", "k2", "k3"].map(bind)));
    expect([...bound]).toEqual([(await signIns.findKeyId("proxy bob")) ?? ""]);
    const [keyId = ""] = bound;
    expect(await on.store.admin.devices.findBoundKeys([keyId])).toMatchObject([{ isForSignIns: true }]);
    await on.store.admin.devices.unbindKey(keyId);
    expect(await bind("k4")).toBe("k4");
  });
});
