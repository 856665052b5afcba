import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { Checkpointer, checkpoint } from "../../../src/store/sqlite/log/checkpointer.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { waitFor } from "../../support/wait.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";

const maxLogPages = 100;

async function openWithKey(dir: string): Promise<{ store: SqliteStore; keyId: string; look: Database }> {
  const store = await openSqliteStore({ dir, clock: systemClock, role: "gateway", maxLogPages });
  const key = keyRecord();
  await store.insertKey(key, 1_000_000);
  return { store, keyId: key.id, look: new Database(join(dir, "sluice.db")) };
}

/** One after the other, so that each is a transaction. */
async function charge(store: SqliteStore, keyId: string, count: number): Promise<void> {
  for (let charged = 0; charged < count; charged += 1) await store.commit([settleItem(keyId, 1)]);
}

const framesOf = (database: Database) => checkpoint(database, "NOOP").frames;

test("the log is copied into the database and begins again, while charges go on", async () => {
  using folder = temporaryFolder();
  const { store, keyId, look } = await openWithKey(folder.dir);
  let [charged, beginnings, before] = [0, 0, 0];
  await waitFor(async () => {
    await charge(store, keyId, 5);
    charged += 5;
    const frames = framesOf(look);
    if (frames < before) beginnings += 1;
    before = frames;
    return beginnings === 3;
  }, "the log to begin again three times");
  expect(store.healthy).toBe(true);
  expect(await store.readTotals(keyId)).toMatchObject({ used: charged });
  look.close();
  await store.close();
}, 60_000);

test("the log of a long upload is copied meanwhile, although nothing is charged", async () => {
  using folder = temporaryFolder();
  const { store, look, keyId } = await openWithKey(folder.dir);
  const body = new Uint8Array(256 * 1024);
  const quota = { bytesPerKey: Number.MAX_SAFE_INTEGER, filesPerKey: 1 };
  const times = { createdAtMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
  const file = {
    id: "file-1",
    keyId,
    kind: "uploading",
    name: "",
    bytes: 0,
    batchId: null,
    ...times,
  } as const;
  expect(await store.uploads.begin(file, quota)).toBeNull();
  let [parts, beginnings, before] = [0, 0, 0];
  // How many parts that takes depends on how soon the thread gets a core.
  await waitFor(async () => {
    await store.uploads.addPart(
      { fileId: file.id, sequence: parts, body, bytes: body.length },
      quota.bytesPerKey,
    );
    parts += 1;
    const frames = framesOf(look);
    if (frames < before) beginnings += 1;
    before = frames;
    return beginnings === 3;
  }, "the log to begin again three times");
  look.close();
  await store.close();
}, 60_000);

test("a reader keeps the log from beginning again; charges go on, and when it has ended the log begins again", async () => {
  using folder = temporaryFolder();
  const { store, keyId, look } = await openWithKey(folder.dir);
  const reader = new Database(join(folder.dir, "sluice.db"));
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM entries").get();
  await charge(store, keyId, 200);
  const frames = framesOf(look);
  expect(frames).toBeGreaterThan(2 * maxLogPages);
  reader.run("ROLLBACK");
  reader.close();
  await waitFor(async () => {
    await charge(store, keyId, 5);
    return framesOf(look) < frames;
  }, "the log to begin again");
  look.close();
  await store.close();
}, 60_000);

test("a log that could not be synced is not copied", async () => {
  using folder = temporaryFolder();
  const { store, keyId, look } = await openWithKey(folder.dir);
  await charge(store, keyId, 5);
  const before = checkpoint(look, "NOOP");
  const failure = new Error("The disk failed.");
  const check = () => {
    throw failure;
  };
  const checkpointer = new Checkpointer({ database: look, log: { check, fail: () => failure }, maxPages: 1 });
  checkpointer.onCommit();
  await checkpointer.close();
  expect(checkpoint(look, "NOOP")).toEqual(before);
  look.close();
  await store.close();
});
