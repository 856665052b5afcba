import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { audit } from "../../src/ledger/audit.ts";
import { type CopyRequest, copyAll, movedTo, openStore, reopenStore } from "../../src/store/open.ts";
import type { StoreLocation } from "../../src/store/settings.ts";
import { StoreError } from "../../src/store/store.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { keyRecord, settleItem, temporaryFolder } from "./fixtures.ts";
import { emptyDatabase, leaveCharges, migratedDatabase, runIn } from "./postgres/fixtures.ts";
import { postgres } from "./postgres/kind.ts";
import { atMs, bytes, contentsAt, fill } from "./something-of-everything.ts";
import { sqlite } from "./sqlite/kind.ts";

function copy(from: StoreLocation, to: StoreLocation, changes: Partial<CopyRequest> = {}) {
  const request = { from, to, clock: systemClock, keepsSource: true, nodeFolders: [], onProgress: () => {} };
  return copyAll({ ...request, ...changes });
}

async function reasonOf(refused: Promise<unknown>): Promise<string> {
  const outcome = await refused.catch((error: unknown) => error);
  return outcome instanceof StoreError ? outcome.reason : `not refused: ${String(outcome)}`;
}

const at = (url: string) => ({ url, password: null, prepare: true });

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a copy", () => {
    test("into a database and back is the same store, and goes on from there", async () => {
      await using source = await sqlite.create();
      const gateway = await source.openGateway(systemClock);
      await fill(gateway);
      await gateway.close();
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const back = { dir: join(folder.dir, "back") };
      const first = await contentsAt({ dir: source.dir });
      expect(first).toMatchObject({
        conversation: { id: "conv_1", request: bytes(300).toHex() },
        turns: { conversations: 1 },
        caps: [
          {
            id: "cap_each",
            values: [
              { value: "ada@example.com", used: 90 },
              { value: "ben", extra: 25 },
            ],
          },
          { id: "cap_user", thenModel: "b", thenAlways: true, values: [{ value: "ü 例", used: 90 }] },
          { id: "cap_tag", extra: 30, values: [{ value: "atlas", used: 90 }] },
        ],
      });

      const counts = { keys: 2, entries: 1_207, usage: 1_203 };
      expect(await copy({ dir: source.dir }, at(database.url))).toEqual(counts);
      // PostgreSQL has no NUL in texts.
      const expected = JSON.parse(JSON.stringify(first).replaceAll("\\u0000", "\ufffd"));
      expect(JSON.parse(JSON.stringify(await contentsAt(at(database.url))))).toEqual(expected);
      expect(await copy(at(database.url), back)).toEqual(counts);
      expect(JSON.parse(JSON.stringify(await contentsAt(back)))).toEqual(expected);

      const location = at(database.url);
      const later = await openStore({ location, clock: systemClock, role: "operator" });
      const [key] = (await later.listKeys({ limit: 1 })).keys;
      await later.insertKey(keyRecord(), 5);
      const more = { keyId: key?.id ?? "", amountNano: 1, reference: null, note: null, atMs };
      expect((await later.recordTopUp(more)).entry.id).toBeGreaterThan(counts.entries);
      expect(await reasonOf(later.recordTopUp({ ...more, reference: "order 1" }))).toBe("reference_conflict");
      expect((await audit(later)).differences).toEqual([]);
      await later.close();
    });

    test("leaves its source marked as moved, which refuses everybody until it is reopened", async () => {
      await using source = await sqlite.create();
      const filled = await source.openOperator(systemClock);
      await filled.insertKey(keyRecord(), 5);
      await filled.close();
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const places: StoreLocation[] = [
        { dir: source.dir },
        at(database.url),
        { dir: join(folder.dir, "third") },
      ];
      const open = (place: StoreLocation, role: "gateway" | "operator") =>
        "url" in place
          ? openStore({ location: place, clock: systemClock, role })
          : openStore({ ...place, clock: systemClock, role });
      for (const [index, from] of places.slice(0, -1).entries()) {
        const to = places[index + 1] as StoreLocation;
        await copy(from, to, { keepsSource: false });
        const name = "url" in to ? new URL(to.url).pathname.slice(1) : to.dir;
        for (const role of ["gateway", "operator"] as const) {
          const refused = await open(from, role).catch((error: unknown) => error);
          expect(refused).toBeInstanceOf(StoreError);
          expect((refused as StoreError).reason).toBe("moved");
          expect(String(refused)).toContain(name);
          expect(String(refused)).toContain("sluice store reopen --at");
        }
        expect(await reasonOf(copy(from, { dir: join(folder.dir, "fourth") }))).toBe("moved");
        expect((await movedTo(from))?.to).toContain(name);
        expect(await movedTo(to)).toBeNull();
        await reopenStore(from);
        expect(await movedTo(from)).toBeNull();
        await (await open(from, "operator")).close();
      }
    });

    test("that fails leaves its source in use", async () => {
      await using source = await sqlite.create();
      const filled = await source.openOperator(systemClock);
      await filled.insertKey(keyRecord(), 5);
      await filled.close();
      const onProgress = () => {
        throw new Error("the disk is full");
      };
      await using database = await emptyDatabase();
      const failing = copy({ dir: source.dir }, at(database.url), { keepsSource: false, onProgress });
      await expect(failing).rejects.toThrow("the disk is full");
      expect(await movedTo({ dir: source.dir })).toBeNull();
    });

    test("is refused while a gateway's folder has charges that the database never got", async () => {
      await using database = await migratedDatabase();
      using folder = temporaryFolder();
      await leaveCharges(folder.dir, database.url, 2);
      const target = { dir: join(folder.dir, "target") };
      const refused = await copy(at(database.url), target, { nodeFolders: ["/nowhere", folder.dir] }).catch(
        (error: unknown) => error,
      );
      expect((refused as StoreError).reason).toBe("unmade_charges");
      expect(String(refused)).toContain(`${folder.dir} has 2 charges`);
      expect(await copy(at(database.url), target)).toMatchObject({ keys: 0 });
    });

    test("is refused of a folder in which an exchange was charged twice, and leaves nothing behind", async () => {
      await using source = await sqlite.create();
      const filled = await source.openGateway(systemClock);
      const key = keyRecord();
      await filled.insertKey(key, 1_000);
      const once = settleItem(key.id, 20);
      await filled.charge([once, settleItem(key.id, 5)]);
      await filled.charge([{ ...once, record: null }]);
      await filled.close();
      await using database = await emptyDatabase();
      const refused = await copy({ dir: source.dir }, at(database.url), { keepsSource: false }).catch(
        (error: unknown) => error,
      );
      expect((refused as StoreError).reason).toBe("corrupt");
      expect(String(refused)).toContain(`exchange ${once.holdId} was charged 2 times`);
      expect(String(refused)).toContain("sluice ledger audit");
      expect(await movedTo({ dir: source.dir })).toBeNull();
      await using other = await sqlite.create();
      await (await other.openOperator(systemClock)).close();
      expect(await copy({ dir: other.dir }, at(database.url))).toEqual({ keys: 0, entries: 0, usage: 0 });
    });

    test("needs a target without data", async () => {
      await using source = await sqlite.create();
      const filled = await source.openOperator(systemClock);
      await filled.insertKey(keyRecord(), 5);
      await filled.close();
      await using database = await postgres.create();
      const other = await database.openOperator(systemClock);
      await other.insertKey(keyRecord(), 5);
      await other.close();
      expect(await reasonOf(copy({ dir: source.dir }, at(database.url)))).toBe("not_empty");
      expect(await reasonOf(copy(at(database.url), { dir: source.dir }))).toBe("not_empty");
    });

    test("is refused while a gateway uses either side, and leaves nothing behind", async () => {
      await using source = await sqlite.create();
      const gateway = await openStore({ dir: source.dir, clock: systemClock, role: "gateway" });
      await gateway.insertKey(keyRecord(), 5);
      await using database = await migratedDatabase();
      expect(await reasonOf(copy({ dir: source.dir }, at(database.url)))).toBe("in_use");
      await gateway.close();
      const joined = "INSERT INTO nodes (name, version, lease_until) VALUES ('a', '1', clock_timestamp())";
      await runIn(database, joined);
      expect(await reasonOf(copy({ dir: source.dir }, at(database.url)))).toBe("in_use");
      using folder = temporaryFolder();
      const empty = { dir: join(folder.dir, "empty") };
      expect(await reasonOf(copy(at(database.url), empty))).toBe("in_use");
      await runIn(database, "UPDATE nodes SET left_at = clock_timestamp()");
      expect(await copy({ dir: source.dir }, at(database.url))).toEqual({ keys: 1, entries: 1, usage: 0 });
      await runIn(database, "UPDATE accounts SET purchased = purchased + 1, posted = posted + 1");
      expect(await reasonOf(copy(at(database.url), empty))).toBe("corrupt");
      await runIn(database, "UPDATE accounts SET purchased = purchased - 1, posted = posted - 1");
      expect(await copy(at(database.url), empty)).toEqual({ keys: 1, entries: 1, usage: 0 });
    });
  });
