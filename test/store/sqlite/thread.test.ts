import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { ThreadWriter } from "../../../src/store/sqlite/writers/thread-writer.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { newJournal } from "../journal/fixtures.ts";

test("a writer thread writes the same as the thread that asks", async () => {
  using folder = temporaryFolder();
  const store = await openSqliteStore({
    dir: folder.dir,
    clock: systemClock,
    role: "gateway",
    journal: "thread",
  });
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  const body = new TextEncoder().encode("data: é\n\n");
  const response = {
    keyId: key.id,
    route: "/v1/messages",
    idempotencyKey: "once",
    bodyHash: "hash",
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body,
    storedAtMs: 5,
  };
  const commits = Array.from({ length: 20 }, () => store.commit([settleItem(key.id, 3)]));
  commits.push(store.commit([{ ...settleItem(key.id, 1), response }]));
  commits.push(store.commit([settleItem("key_unknown", 1)]));
  const outcomes = await Promise.allSettled(commits);
  expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(await store.readTotals(key.id)).toMatchObject({ posted: 939, requests: 21 });
  expect(await store.findStoredResponse(response, 0)).toEqual({ ...response, body: Buffer.from(body) });
  await store.close();
  const reader = await openSqliteStore({ dir: folder.dir, clock: systemClock, role: "operator" });
  expect(await summarizeUsage(reader, { by: "key", sinceMs: 0 })).toMatchObject([{ requests: 21 }]);
  await reader.close();
});

test("a writer thread that dies makes the store unhealthy for good, and nobody waits forever", async () => {
  using folder = temporaryFolder();
  const source = join(folder.dir, "mortal.ts");
  await Bun.write(
    source,
    `self.onmessage = ({ data }) => {
      if (data.kind === "open") self.postMessage({ kind: "done" });
      else throw new Error("out of memory");
    };`,
  );
  const writer = await ThreadWriter.open("unused", source);
  const journal = newJournal(writer);
  await expect(journal.commit([])).rejects.toThrow("out of memory");
  expect(journal.healthy).toBe(false);
  await expect(journal.commit([])).rejects.toThrow("out of memory");
  await journal.close();
});

test("a writer thread that cannot open its database says so", async () => {
  using folder = temporaryFolder();
  await expect(ThreadWriter.open(join(folder.dir, "nowhere", "sluice.db"))).rejects.toThrow();
});
