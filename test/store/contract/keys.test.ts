import { describe, expect } from "bun:test";
import { maxRequestLimit } from "../../../src/base/key-attributes.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { type OperatorEntry, type Store, StoreError } from "../../../src/store/store.ts";
import { noValueCaps } from "../../ledger/no-value-caps.ts";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord } from "../fixtures.ts";
import type { TestDatabase } from "../kind.ts";

async function withStore(database: TestDatabase, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await database.openOperator(new FakeClock());
  await work(store);
  await store.close();
}

async function reasonOf(refused: Promise<unknown>): Promise<string> {
  const outcome = await refused.catch((error: unknown) => error);
  return outcome instanceof StoreError ? outcome.reason : `not refused: ${String(outcome)}`;
}

function entryFor(keyId: string, overrides: Partial<OperatorEntry> = {}): OperatorEntry {
  return { keyId, amountNano: 10, reference: null, note: null, atMs: 5, ...overrides };
}

describe("a key", () => {
  testEachStore("comes back as it was stored, with its opening credit", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord({
        label: "all of it",
        models: ["a", "b"],
        scope: "openai",
        rpmLimit: 60,
        expiresAtMs: 99,
        createdAtMs: 7,
      });
      await store.insertKey(key, 25);
      expect(await store.findKey(key.id)).toEqual(key);
      expect(await store.findKey(key.prefix)).toEqual(key);
      expect(await store.readTotals(key.id)).toMatchObject({ posted: 25, purchased: 25, used: 0 });
      expect(await store.listEntries({ afterId: 0, limit: 5, keyId: key.id })).toMatchObject([
        { kind: "topup", amount: 25, note: "opening credit", atMs: 7 },
      ]);
    }),
  );

  testEachStore("has the largest limits of requests that the checks let through", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord({ rpmLimit: maxRequestLimit, maxConcurrent: maxRequestLimit });
      await store.insertKey(key, 0);
      expect(await store.findKey(key.id)).toEqual(key);
    }),
  );

  testEachStore("that does not exist is not found", (database) =>
    withStore(database, async (store) => {
      expect(await store.findKey("key_unknown")).toBeNull();
      expect(await store.readTotals("key_unknown")).toBeNull();
      expect(await reasonOf(store.updateKey("key_unknown", { label: "x" }))).toBe("unknown_key");
      expect(await reasonOf(store.recordTopUp(entryFor("key_unknown")))).toBe("unknown_key");
    }),
  );

  testEachStore("is not found by a prefix that two keys share", (database) =>
    withStore(database, async (store) => {
      await store.insertKey(keyRecord({ prefix: "slu_same0000" }), 0);
      await store.insertKey(keyRecord({ prefix: "slu_same0000" }), 0);
      expect(await store.findKey("slu_same0000")).toBeNull();
    }),
  );

  testEachStore("is inserted whole or not at all", (database) =>
    withStore(database, async (store) => {
      const budget = keyRecord({ mode: "token_budget" });
      expect(await reasonOf(store.insertKey(budget, 5))).toBe("wrong_mode");
      expect(await store.findKey(budget.id)).toBeNull();
    }),
  );

  testEachStore("is not inserted if anything has changed since a revision that is given", (database) =>
    withStore(database, async (store) => {
      const before = await store.currentRevision();
      await store.insertKey(keyRecord(), 0, before);
      const late = keyRecord();
      expect(await reasonOf(store.insertKey(late, 0, before))).toBe("changed");
      expect(await store.findKey(late.id)).toBeNull();
    }),
  );

  testEachStore("changes only where it is told to, and every change raises the revision", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord({ label: "old" });
      await store.insertKey(key, 0);
      const before = await store.currentRevision();
      const changed = await store.updateKey(key.id, { label: "new", status: "disabled", models: ["m"] });
      expect(changed).toEqual({ ...key, label: "new", status: "disabled", models: ["m"] });
      expect(await store.changesSince(before)).toEqual({
        revision: before + 1,
        accounts: [],
        keys: [changed],
        signIns: [],
        valueCaps: noValueCaps,
        entries: [],
      });
    }),
  );

  testEachStore("keeps the secret before its last rotation, and until when it is valid", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 0);
      const rotation = { hash: "new", previousHash: key.hash, previousUntilMs: 100 };
      await store.updateKey(key.id, rotation);
      expect(await store.findKey(key.id)).toEqual({ ...key, ...rotation });
    }),
  );
});

describe("an account", () => {
  testEachStore(
    "is read with its keys and what their caps have counted, unless it has too many",
    (database) =>
      withStore(database, async (store) => {
        const cap = { limit: 9, period: "day", models: null } as const;
        const caps = [{ ...cap, no: 0, extra: 0, extraPeriodMs: 0 }];
        const [key, other] = [keyRecord({ caps }), keyRecord({ caps })];
        await store.insertKey(key, 25);
        await store.insertKey(other, 5);
        const second = keyRecord({ accountId: key.accountId });
        await store.insertKey(second, 0);
        await store.setCaps({ accountId: key.accountId }, [cap], 0);
        const shape = async (mostKeys?: number) => {
          const standings = await store.readAccounts([other.accountId, key.accountId], mostKeys);
          return standings.map(({ keys, hasMoreKeys, caps: counted, totals }) => ({
            keys: keys.map(({ id }) => id),
            hasMoreKeys,
            caps: counted.length,
            posted: totals.posted,
          }));
        };
        const first = { keys: [other.id], hasMoreKeys: false, caps: 1, posted: 5 };
        const both = { keys: [key.id, second.id], hasMoreKeys: false, caps: 2, posted: 25 };
        expect(await shape()).toEqual([first, both]);
        expect(await shape(2)).toEqual([first, both]);
        expect(await shape(1)).toEqual([first, { keys: [], hasMoreKeys: true, caps: 1, posted: 25 }]);
        await expect(store.readAccounts([key.accountId, "acc_none"])).rejects.toThrow(
          "Account acc_none does not exist",
        );
      }),
  );
});

describe("the list of keys", () => {
  testEachStore("comes in pages, oldest first", (database) =>
    withStore(database, async (store) => {
      const keys = Array.from({ length: 5 }, (_, index) => keyRecord({ label: `key ${index}` }));
      for (const key of keys) await store.insertKey(key, 0);
      const first = await store.listKeys({ limit: 3 });
      expect(first.keys.map(({ label }) => label)).toEqual(["key 0", "key 1", "key 2"]);
      const second = await store.listKeys({ limit: 3, cursor: first.nextCursor ?? "" });
      expect(second.keys.map(({ label }) => label)).toEqual(["key 3", "key 4"]);
      expect(second.nextCursor).toBeNull();
    }),
  );

  testEachStore(
    "is searched by a part of the label or the beginning of prefix and id, all literally",
    (database) =>
      withStore(database, async (store) => {
        const key = keyRecord({ label: "100% of_it" });
        await store.insertKey(key, 0);
        await store.insertKey(keyRecord({ label: "1000 of it" }), 0);
        const found = async (search: string) =>
          (await store.listKeys({ limit: 9, search })).keys.map(({ id }) => id);
        expect(await found("0% of_")).toEqual([key.id]);
        expect(await found(key.prefix.slice(0, 12))).toEqual([key.id]);
        expect(await found(key.id.slice(0, 20))).toEqual([key.id]);
        expect(await found("nothing like it")).toEqual([]);
      }),
  );
});

describe("a top-up", () => {
  testEachStore("with the same reference again is the same entry", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 0);
      const topUp = entryFor(key.id, { reference: "invoice 1", note: "thanks" });
      const first = await store.recordTopUp(topUp);
      const again = await store.recordTopUp(topUp);
      expect(first.repeated).toBe(false);
      expect(again).toEqual({ entry: first.entry, repeated: true });
      expect(await store.readTotals(key.id)).toMatchObject({ posted: 10 });
    }),
  );

  testEachStore("is refused when its reference stands for something else", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 0);
      await store.recordTopUp(entryFor(key.id, { reference: "invoice 1" }));
      const other = entryFor(key.id, { reference: "invoice 1", amountNano: 11 });
      expect(await reasonOf(store.recordTopUp(other))).toBe("reference_conflict");
      const same = entryFor(key.id, { reference: "invoice 1" });
      expect(await reasonOf(store.recordAdjustment(same))).toBe("reference_conflict");
    }),
  );

  testEachStore("needs a sensible amount, and a key that has credit", (database) =>
    withStore(database, async (store) => {
      const key = keyRecord();
      const budget = keyRecord({ mode: "token_budget" });
      await store.insertKey(key, 0);
      await store.insertKey(budget, 0);
      for (const amountNano of [0, -1, 0.5, 4_000_001 * nanoPerCredit]) {
        expect(await reasonOf(store.recordTopUp(entryFor(key.id, { amountNano })))).toBe("invalid_amount");
      }
      expect(await reasonOf(store.recordTopUp(entryFor(budget.id)))).toBe("wrong_mode");
      expect(await store.readTotals(key.id)).toMatchObject({ posted: 0 });
    }),
  );
});

testEachStore("an adjustment corrects in both directions, never below 0", (database) =>
  withStore(database, async (store) => {
    const key = keyRecord();
    await store.insertKey(key, 10);
    await store.recordAdjustment(entryFor(key.id, { amountNano: 5 }));
    await store.recordAdjustment(entryFor(key.id, { amountNano: -15 }));
    expect(await reasonOf(store.recordAdjustment(entryFor(key.id, { amountNano: -1 })))).toBe(
      "invalid_amount",
    );
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 0, purchased: 0 });
  }),
);

testEachStore("an adjustment leaves what is held, and its repetition is none", (database) =>
  withStore(database, async (store) => {
    const key = keyRecord();
    await store.insertKey(key, 10);
    const taken = entryFor(key.id, { amountNano: -6, reference: "r" });
    expect(await reasonOf(store.recordAdjustment({ ...taken, heldNano: 5 }))).toBe("invalid_amount");
    expect(await store.recordAdjustment({ ...taken, heldNano: 4 })).toMatchObject({ repeated: false });
    expect(await store.recordAdjustment({ ...taken, heldNano: 4 })).toMatchObject({ repeated: true });
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 4, purchased: 4 });
  }),
);

testEachStore("a revoked key stays so, whoever still saw it otherwise", (database) =>
  withStore(database, async (store) => {
    const key = keyRecord();
    await store.insertKey(key, 0);
    await store.updateKey(key.id, { status: "revoked" });
    expect(await reasonOf(store.updateKey(key.id, { status: "active" }))).toBe("revoked");
    expect(await store.findKey(key.id)).toMatchObject({ status: "revoked" });
    await store.updateKey(key.id, { status: "revoked", label: "gone" });
  }),
);
