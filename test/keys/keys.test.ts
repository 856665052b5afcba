import { describe, expect, test } from "bun:test";
import { issueKey, rotateKey } from "../../src/keys/issue.ts";
import { effectiveStatus, KeyRing, mayBecome } from "../../src/keys/keyring.ts";
import { hashSecret, hasKeyForm, newSecret } from "../../src/keys/secret.ts";
import { openBench } from "../ledger/fixtures.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { keyRecord } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";

describe("the form of a key", () => {
  test("is slu_, 30 random characters and 6 of checksum", () => {
    const secret = newSecret();
    expect(secret).toMatch(/^slu_[0-9A-Za-z]{36}$/);
    expect(hasKeyForm(secret)).toBe(true);
    expect(newSecret()).not.toBe(secret);
  });

  test("refuses every change of one character, and everything else", () => {
    const secret = newSecret();
    for (let position = 0; position < secret.length; position += 1) {
      for (const other of [secret[position] === "a" ? "b" : "a", "-", "é", "語"]) {
        expect(hasKeyForm(secret.slice(0, position) + other + secret.slice(position + 1))).toBe(false);
      }
    }
    for (const text of [
      "",
      "slu_",
      `${secret}0`,
      secret.slice(0, -1),
      secret.replace("slu_", "sk-_"),
      "é".repeat(40),
    ]) {
      expect(hasKeyForm(text)).toBe(false);
    }
  });

  test("is hashed as SHA-256", () => {
    expect(hashSecret("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(hashSecret("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });
});

describe("a key's status", () => {
  test("is expired once its date has come, and only if it was active", () => {
    const key = keyRecord({ expiresAtMs: 1_000 });
    expect(effectiveStatus(key, 999)).toBe("active");
    expect(effectiveStatus(key, 1_000)).toBe("expired");
    expect(effectiveStatus({ ...key, status: "revoked" }, 1_000)).toBe("revoked");
    expect(effectiveStatus({ ...key, expiresAtMs: 2_000 }, 1_000)).toBe("active");
    expect(effectiveStatus({ ...key, expiresAtMs: null }, 1_000)).toBe("active");
  });

  test("moves between active and disabled or suspended, and from revoked nowhere", () => {
    expect(mayBecome("active", "disabled")).toBe(true);
    expect(mayBecome("disabled", "active")).toBe(true);
    expect(mayBecome("suspended", "active")).toBe(true);
    expect(mayBecome("suspended", "disabled")).toBe(false);
    expect(mayBecome("disabled", "revoked")).toBe(true);
    expect(mayBecome("revoked", "active")).toBe(false);
    expect(mayBecome("revoked", "revoked")).toBe(true);
  });
});

describe("an issued key", () => {
  testEachJournal("is stored as a hash and a prefix, never as itself", async (database) => {
    await using bench = await openBench(database);
    const { key, secret } = await issueKey(bench.operator, bench.clock, { mode: "credit", creditNano: 50 });
    expect(key.prefix).toBe(secret.slice(0, 12));
    expect(key).toMatchObject({ status: "active", scope: "all", models: null, period: "none", label: null });
    expect(JSON.stringify(await bench.operator.load())).not.toContain(secret);
    expect((await bench.operator.findKey(key.id))?.hash).toBe(hashSecret(secret));
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 50 });
  });

  testEachJournal("with a token budget is monthly unless told otherwise", async (database) => {
    await using bench = await openBench(database);
    const { key } = await issueKey(bench.operator, bench.clock, { mode: "token_budget", budgetTokens: 5 });
    expect(key).toMatchObject({ period: "month", budgetTokens: 5 });
  });
});

describe("a secret", () => {
  const failing = () => Promise.reject(new Error("the disk is full"));

  testEachJournal("is not handed out when its key could not be stored", async (database) => {
    await using bench = await openBench(database);
    const store = Object.assign(Object.create(bench.operator), { insertKey: failing });
    await expect(issueKey(store, bench.clock, { mode: "credit" })).rejects.toThrow("the disk is full");
    expect((await bench.operator.load()).keys).toEqual([]);
  });

  testEachJournal(
    "is not handed out when its rotation could not be stored, and the old one lives on",
    async (database) => {
      await using bench = await openBench(database);
      const { key, secret } = await issueKey(bench.operator, bench.clock, { mode: "credit" });
      const store = Object.assign(Object.create(bench.operator), { updateKey: failing });
      await expect(rotateKey(store, bench.clock, key, 0)).rejects.toThrow("the disk is full");
      expect((await bench.operator.findKey(key.id))?.hash).toBe(hashSecret(secret));
    },
  );
});

describe("the key ring", () => {
  testEachJournal("finds living secrets, and nothing that is malformed or unknown", async (database) => {
    await using bench = await openBench(database);
    const { key, secret } = await issueKey(bench.operator, bench.clock, { mode: "credit" });
    const ring = new KeyRing(bench.clock, [key]);
    expect(ring.find(secret)).toEqual(key);
    expect(ring.find(newSecret())).toBeNull();
    expect(ring.find("slu_nonsense")).toBeNull();
    expect(ring.byId(key.id)).toEqual(key);
    expect(ring.byId("key_unknown")).toBeNull();
    expect([...ring.all()]).toEqual([key]);
    expect(ring.size).toBe(1);
  });

  testEachJournal(
    "lets the old secret live for the grace time after a rotation, and not at all without",
    async (database) => {
      await using bench = await openBench(database);
      const issued = await issueKey(bench.operator, bench.clock, { mode: "credit" });
      const ring = new KeyRing(bench.clock, [issued.key]);
      const rotated = await rotateKey(bench.operator, bench.clock, issued.key, 1_000);
      ring.apply({ accounts: [], keys: [rotated.key] });
      expect(ring.find(issued.secret)?.id).toBe(issued.key.id);
      expect(ring.find(rotated.secret)?.prefix).toBe(rotated.secret.slice(0, 12));
      bench.clock.advance(1_000);
      expect(ring.find(issued.secret)).toBeNull();
      const again = await rotateKey(bench.operator, bench.clock, rotated.key, 0);
      ring.apply({ accounts: [], keys: [again.key] });
      expect(ring.find(rotated.secret)).toBeNull();
      expect(ring.find(issued.secret)).toBeNull();
      expect(ring.find(again.secret)?.id).toBe(issued.key.id);
    },
  );

  testEachJournal(
    "has only two secrets of a key: one of two rotations ago is dead within its old grace",
    async (database) => {
      await using bench = await openBench(database);
      const first = await issueKey(bench.operator, bench.clock, { mode: "credit" });
      const ring = new KeyRing(bench.clock, [first.key]);
      const second = await rotateKey(bench.operator, bench.clock, first.key, 60_000);
      ring.apply({ accounts: [], keys: [second.key] });
      const third = await rotateKey(bench.operator, bench.clock, second.key, 60_000);
      ring.apply({ accounts: [], keys: [third.key] });
      expect(ring.find(first.secret)).toBeNull();
      expect(ring.find(second.secret)?.id).toBe(first.key.id);
      expect(ring.find(third.secret)?.id).toBe(first.key.id);

      const revoked = await bench.operator.updateKey(third.key.id, { status: "revoked" });
      ring.apply({ accounts: [], keys: [revoked] });
      expect(ring.find(first.secret)).toBeNull();
      expect(ring.find(second.secret)?.status).toBe("revoked");
      expect(ring.find(third.secret)?.status).toBe("revoked");
      const restarted = new KeyRing(bench.clock, (await bench.operator.load()).keys);
      expect(restarted.find(first.secret)).toBeNull();
    },
  );

  testEachJournal("keeps the secrets of two keys apart when both are rotated", async (database) => {
    await using bench = await openBench(database);
    const [one, two] = [
      await issueKey(bench.operator, bench.clock, { mode: "credit" }),
      await issueKey(bench.operator, bench.clock, { mode: "token_budget" }),
    ];
    const ring = new KeyRing(bench.clock, [one.key, two.key]);
    const newOne = await rotateKey(bench.operator, bench.clock, one.key, 1_000);
    const newTwo = await rotateKey(bench.operator, bench.clock, two.key, 60_000);
    ring.apply({ accounts: [], keys: [newOne.key, newTwo.key] });
    bench.clock.advance(1_000);
    expect(ring.find(one.secret)).toBeNull();
    expect(ring.find(two.secret)?.id).toBe(two.key.id);
    expect(ring.find(newOne.secret)?.id).toBe(one.key.id);
    expect(ring.find(newTwo.secret)?.id).toBe(two.key.id);
  });

  test("takes new keys and changes of known ones", () => {
    const ring = new KeyRing(new FakeClock(), []);
    const key = keyRecord();
    ring.apply({ accounts: [], keys: [key] });
    ring.apply({ accounts: [], keys: [{ ...key, status: "revoked" }] });
    expect(ring.byId(key.id)?.status).toBe("revoked");
    expect(ring.size).toBe(1);
  });
});
