import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { exportStore, importStore, movedTo, openStore } from "../../src/store/open.ts";
import type { StoreLocation } from "../../src/store/settings.ts";
import { type Store, StoreError } from "../../src/store/store.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { keyRecord, settleItem, temporaryFolder } from "./fixtures.ts";
import { emptyDatabase } from "./postgres/fixtures.ts";
import { contentsAt, fill } from "./something-of-everything.ts";
import { sqlite } from "./sqlite/kind.ts";

const unused = { clock: systemClock, nodeFolders: [], onProgress: () => {} };
const at = (url: string) => ({ url, password: null, prepare: true });

function exportTo(file: string, from: StoreLocation, keepsSource = true) {
  return exportStore({ from, file, keepsSource, ...unused });
}

function importFrom(file: string, to: StoreLocation) {
  return importStore({ file, to, clock: systemClock, onProgress: () => {} });
}

/** A small ledger as a file, its lines, and places to import into. */
async function exported() {
  await using source = await sqlite.create();
  const gateway = await source.openGateway(systemClock);
  const key = keyRecord({ label: "one", rpmLimit: 60 });
  await gateway.insertKey(key, 1_000);
  await gateway.charge([settleItem(key.id, 20), settleItem(key.id, 5)]);
  await gateway.close();
  const folder = temporaryFolder();
  const file = join(folder.dir, "ledger.jsonl");
  await exportTo(file, { dir: source.dir });
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  let places = 0;
  return {
    file,
    lines,
    nextFile: () => join(folder.dir, `changed-${++places}.jsonl`),
    nextPlace: () => ({ dir: join(folder.dir, `place-${++places}`) }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** The file that a program would write that has these lines: the count and the checksum fit. */
function withChecksum(lines: readonly string[]): string {
  const text = lines.map((line) => `${line}\n`).join("");
  const sha256 = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return `${text}${JSON.stringify({ end: { lines: lines.length, sha256 } })}\n`;
}

type Changes = (columns: Record<string, string>, values: (string | null)[]) => void;

/** Changes the columns of a table and each of its rows. */
function changeTable(
  lines: readonly string[],
  table: string,
  changeColumns: Changes,
  changeRow: Changes,
): string[] {
  let columns: Record<string, string> | null = null;
  return lines.slice(0, -1).map((line) => {
    const value = JSON.parse(line);
    if (!Array.isArray(value)) {
      columns = value.table === table ? value.columns : null;
      if (columns === null) return line;
      changeColumns(columns, []);
    } else if (columns === null) return line;
    else changeRow(columns, value);
    return JSON.stringify(value);
  });
}

async function refusal(refused: Promise<unknown>): Promise<StoreError> {
  const outcome = await refused.then(
    () => null,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(StoreError);
  return outcome as StoreError;
}

async function withStore<Result>(
  to: StoreLocation,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store =
    "url" in to
      ? await openStore({ location: to, clock: systemClock, role: "operator" })
      : await openStore({ ...to, clock: systemClock, role: "operator" });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});

describe("an exported ledger", () => {
  test("is imported as the same store, and is of its owner alone", async () => {
    await using source = await sqlite.create();
    const gateway = await source.openGateway(systemClock);
    await fill(gateway);
    await gateway.close();
    using folder = temporaryFolder();
    const file = join(folder.dir, "ledger.jsonl");
    const first = await contentsAt({ dir: source.dir });
    const counts = { keys: 2, entries: 1_207, usage: 1_203 };
    expect(await exportTo(file, { dir: source.dir })).toEqual(counts);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const back = { dir: join(folder.dir, "back") };
    expect(await importFrom(file, back)).toEqual(counts);
    expect(await contentsAt(back)).toEqual(first);
    const again = join(folder.dir, "again.jsonl");
    await exportTo(again, back);
    expect(readFileSync(again, "utf8")).toBe(readFileSync(file, "utf8"));
  });

  test.skipIf(!hasPostgres)("moves into a database and back", async () => {
    await using source = await sqlite.create();
    const gateway = await source.openGateway(systemClock);
    await fill(gateway);
    await gateway.close();
    await using database = await emptyDatabase();
    using folder = temporaryFolder();
    const [one, other] = [join(folder.dir, "one.jsonl"), join(folder.dir, "other.jsonl")];
    const counts = await exportTo(one, { dir: source.dir });
    expect(await importFrom(one, at(database.url))).toEqual(counts);
    const first = JSON.parse(
      JSON.stringify(await contentsAt({ dir: source.dir })).replaceAll("\\u0000", "\ufffd"),
    );
    expect(JSON.parse(JSON.stringify(await contentsAt(at(database.url))))).toEqual(first);
    expect(await exportTo(other, at(database.url))).toEqual(counts);
    const back = { dir: join(folder.dir, "back") };
    expect(await importFrom(other, back)).toEqual(counts);
    expect(JSON.parse(JSON.stringify(await contentsAt(back)))).toEqual(first);
  });

  test("marks its source as moved, unless that stays in use", async () => {
    await using source = await sqlite.create();
    await withStore({ dir: source.dir }, (store) => store.insertKey(keyRecord(), 5));
    using folder = temporaryFolder();
    await exportTo(join(folder.dir, "trial.jsonl"), { dir: source.dir });
    expect(await movedTo({ dir: source.dir })).toBeNull();
    const file = join(folder.dir, "ledger.jsonl");
    await exportTo(file, { dir: source.dir }, false);
    expect((await movedTo({ dir: source.dir }))?.to).toBe(file);
    const refused = await refusal(withStore({ dir: source.dir }, async () => {}));
    expect(refused.message).toContain("import a file first");
  });

  test("never replaces a file, and leaves none behind if it fails", async () => {
    await using source = await sqlite.create();
    using folder = temporaryFolder();
    const file = join(folder.dir, "ledger.jsonl");
    writeFileSync(file, "mine");
    await withStore({ dir: source.dir }, (store) => store.insertKey(keyRecord(), 5));
    expect((await refusal(exportTo(file, { dir: source.dir }))).reason).toBe("file_exists");
    expect(readFileSync(file, "utf8")).toBe("mine");
    const other = join(folder.dir, "other.jsonl");
    const onProgress = () => {
      throw new Error("the disk is full");
    };
    const failing = exportStore({
      from: { dir: source.dir },
      file: other,
      keepsSource: false,
      ...unused,
      onProgress,
    });
    await expect(failing).rejects.toThrow("the disk is full");
    expect(existsSync(other)).toBe(false);
    expect(await movedTo({ dir: source.dir })).toBeNull();
  });

  test("is refused whole if it is truncated, at any line or within one", async () => {
    using ledger = await exported();
    const text = `${ledger.lines.join("\n")}\n`;
    const ends = ledger.lines.map((_, count) => ledger.lines.slice(0, count).join("\n").length + 1);
    for (const length of [...ends.slice(1), ...ends.slice(1).map((end) => end + 9), text.length - 1]) {
      const file = ledger.nextFile();
      writeFileSync(file, text.slice(0, length));
      const place = ledger.nextPlace();
      expect((await refusal(importFrom(file, place))).message).toContain("is truncated or was modified");
      expect(existsSync(place.dir)).toBe(false);
    }
  });

  test("is refused whole if a single character of it was changed, or a line was added", async () => {
    using ledger = await exported();
    const bytes = readFileSync(ledger.file);
    const header = (ledger.lines[0]?.length ?? 0) + 1;
    for (let place = header; place < bytes.length; place += 97) {
      const file = ledger.nextFile();
      const changed = Buffer.from(bytes);
      changed[place] = (changed[place] ?? 0) ^ 1;
      writeFileSync(file, changed);
      expect((await refusal(importFrom(file, ledger.nextPlace()))).reason).toBe("corrupt");
    }
    for (const added of ["", "\n", `${ledger.lines.at(-1)}\n`]) {
      const file = ledger.nextFile();
      writeFileSync(file, `${bytes}${added}${added === "" ? "x" : ""}`);
      expect((await refusal(importFrom(file, ledger.nextPlace()))).reason).toBe("corrupt");
    }
  });

  test("is refused if its entries do not add up to its totals, whatever its checksum says", async () => {
    using ledger = await exported();
    const file = ledger.nextFile();
    const lines = changeTable(
      ledger.lines,
      "accounts",
      () => {},
      (columns, values) => {
        const place = Object.keys(columns).indexOf("posted");
        values[place] = String(Number(values[place]) + 1);
      },
    );
    writeFileSync(file, withChecksum(lines));
    const place = ledger.nextPlace();
    const refused = await refusal(importFrom(file, place));
    expect(refused.message).toContain("is inconsistent: account of key");
    expect(existsSync(join(place.dir, "sluice.db"))).toBe(false);
  });

  test("of a build with other columns is imported if nothing of it is lost", async () => {
    using ledger = await exported();
    const older = ledger.nextFile();
    const withoutLimit = changeTable(
      ledger.lines,
      "keys",
      (columns) => delete columns["content"],
      (_, values) => {
        const keys = ledger.lines.map((line) => JSON.parse(line)).find((line) => line.table === "keys");
        values.splice(Object.keys(keys.columns).indexOf("content"), 1);
      },
    );
    writeFileSync(older, withChecksum(withoutLimit));
    const place = ledger.nextPlace();
    await importFrom(older, place);
    expect(await withStore(place, async (store) => (await store.listKeys({ limit: 5 })).keys)).toMatchObject([
      { label: "one", rpmLimit: 60, content: null },
    ]);

    const other = (value: string | null) => {
      const file = ledger.nextFile();
      const add: Changes = (columns) => (columns["shoe_size"] = "number");
      const lines = changeTable(ledger.lines, "keys", add, (_, values) => values.push(value));
      writeFileSync(file, withChecksum(lines));
      return importFrom(file, ledger.nextPlace());
    };
    expect(await other(null)).toMatchObject({ keys: 1 });
    const refused = await refusal(other("44"));
    expect(refused.message).toContain("keys.shoe_size has values");
  });

  test("with lines that no build of this format writes is refused by what is wrong", async () => {
    using ledger = await exported();
    const of = (lines: readonly string[]) => {
      const file = ledger.nextFile();
      writeFileSync(file, withChecksum(lines));
      return refusal(importFrom(file, ledger.nextPlace()));
    };
    const body = ledger.lines.slice(0, -1);
    const newer = [JSON.stringify({ sluice: "ledger", version: 2 }), ...body.slice(1)];
    expect((await of(newer)).message).toContain("was written by a newer Sluice (format 2");
    const unknown = [...body, JSON.stringify({ table: "shoes", columns: { size: "number" } })];
    expect((await of(unknown)).message).toContain("has a table shoes");
    const short = changeTable(
      ledger.lines,
      "entries",
      () => {},
      (_, values) => values.pop(),
    );
    expect((await of(short)).message).toContain("Row 1 of entries");
    const words = changeTable(
      ledger.lines,
      "entries",
      () => {},
      (_, values) => (values[0] = "1; DROP TABLE entries"),
    );
    expect((await of(words)).message).toContain("Row 1 of entries");
    for (const text of ["", "{}", "id,amount\n1,5\n", "\0".repeat(5_000)]) {
      const file = ledger.nextFile();
      writeFileSync(file, text);
      const refused = await refusal(importFrom(file, ledger.nextPlace()));
      expect(refused.message).toContain("was not written by `sluice store export`");
    }
    expect((await refusal(importFrom("/nowhere/ledger.jsonl", ledger.nextPlace()))).message).toContain(
      "does not exist",
    );
  });

  test("is only imported into an empty store", async () => {
    using ledger = await exported();
    const place = ledger.nextPlace();
    await importFrom(ledger.file, place);
    expect((await refusal(importFrom(ledger.file, place))).reason).toBe("not_empty");
    expect((await withStore(place, async (store) => (await store.listKeys({ limit: 5 })).keys)).length).toBe(
      1,
    );
  });
});
