import { afterEach, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { issueKey } from "../../../src/keys/issue.ts";
import { replacedPath } from "../../../src/store/sqlite/files/restore.ts";
import {
  applyStagedRestore,
  endStagedRestore,
  hasStagedRestore,
  stageRestore,
} from "../../../src/store/sqlite/files/staged-restore.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { newFolder } from "../../support/new-folder.ts";

const nowMs = 1_794_700_000_000;
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A data folder with one key, and a copy of it from before that key. */
async function folderWithCopy(): Promise<{ dir: string; copy: string }> {
  const folder = newFolder();
  folders.push(folder);
  const [dir, copy] = [join(folder, "data"), join(folder, "copy.db")];
  const store = await openSqliteStore({ dir, clock: systemClock, role: "operator" });
  await store.files.backup(copy);
  await issueKey(store, systemClock, { mode: "credit" });
  await store.close();
  return { dir, copy };
}

async function keysIn(dir: string): Promise<number> {
  const store = await openSqliteStore({ dir, clock: systemClock, role: "operator" });
  const { keys } = await store.listKeys({ limit: 10 });
  await store.close();
  return keys.length;
}

test("a copy that was handed in is put in place once, and kept until that is said to be over", async () => {
  const { dir, copy } = await folderWithCopy();
  expect(await applyStagedRestore(dir)).toBeNull();
  await stageRestore({ dir, from: copy, nowMs });
  expect(await keysIn(dir)).toBe(1);
  expect(await applyStagedRestore(dir)).toEqual({ replaced: replacedPath(dir, nowMs) });
  expect(await keysIn(dir)).toBe(0);
  expect(hasStagedRestore(dir)).toBe(true);
  expect(await applyStagedRestore(dir)).toEqual({ replaced: replacedPath(dir, nowMs) });
  endStagedRestore(dir);
  expect(hasStagedRestore(dir)).toBe(false);
});

test("a copy that was handed in is not copied or read again while the gateway is stopped", async () => {
  const { dir, copy } = await folderWithCopy();
  await stageRestore({ dir, from: copy, nowMs });
  const staged = statSync(join(dir, `sluice.restore-${nowMs}`)).ino;
  expect(await applyStagedRestore(dir)).toEqual({ replaced: replacedPath(dir, nowMs) });
  expect(statSync(join(dir, "sluice.db")).ino).toBe(staged);
  endStagedRestore(dir);
  expect(await keysIn(dir)).toBe(0);
  // The old data is whole, too.
  await stageRestore({ dir, from: replacedPath(dir, nowMs), nowMs: nowMs + 1 });
  await applyStagedRestore(dir);
  endStagedRestore(dir);
  expect(await keysIn(dir)).toBe(1);
});

test("a crash between the rename and its note, in a folder that had no data, applies nothing twice", async () => {
  const { dir, copy } = await folderWithCopy();
  const empty = join(dir, "..", "empty");
  await stageRestore({ dir: empty, from: copy, nowMs });
  expect(await applyStagedRestore(empty)).toEqual({ replaced: null });
  renameSync(join(empty, `sluice.restore-${nowMs}.applied`), join(empty, `sluice.restore-${nowMs}`));
  expect(await applyStagedRestore(empty)).toEqual({ replaced: null });
  expect(await keysIn(empty)).toBe(0);
});

test("a crash after the old database was set aside is made good at the next start", async () => {
  const { dir, copy } = await folderWithCopy();
  await stageRestore({ dir, from: copy, nowMs });
  await applyStagedRestore(dir);
  renameSync(join(dir, "sluice.db"), join(dir, "lost"));
  expect(await applyStagedRestore(dir)).not.toBeNull();
  expect(existsSync(replacedPath(dir, nowMs))).toBe(true);
  expect(await keysIn(dir)).toBe(0);
});

test("what is no copy is refused before it is handed in", async () => {
  const { dir } = await folderWithCopy();
  const file = join(dir, "text");
  await Bun.write(file, "only text, and not a database");
  await expect(stageRestore({ dir, from: file, nowMs })).rejects.toThrow("is not a Sluice database");
  expect(hasStagedRestore(dir)).toBe(false);
});
