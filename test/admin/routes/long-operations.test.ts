import { expect, spyOn, test } from "bun:test";
import { framesHeader, readFrames } from "../../../src/base/requests/frames.ts";
import { startAdmin } from "./fixtures.ts";

test("an audit tells how far it is, and stops when its client leaves", async () => {
  await using admin = await startAdmin();
  await admin.post("/keys", { mode: "credit", credit: 1 });
  const read = admin.store.listEntries;
  let chunks = 0;
  // A ledger without an end.
  const entries = spyOn(admin.store, "listEntries").mockImplementation(async ({ limit }) => {
    chunks += 1;
    await Bun.sleep(1);
    return read({ afterId: 0, limit });
  });
  const client = new AbortController();
  const response = await admin.call("/ledger/audit", {
    method: "POST",
    body: "{}",
    headers: { [framesHeader]: "1" },
    signal: client.signal,
  });
  const told = Promise.withResolvers<string>();
  const reading = readFrames(response, (note) => told.resolve(note ?? ""));
  expect(await told.promise).toMatch(/^\d+ entries checked$/);
  client.abort();
  expect(await reading.catch((error: Error) => error.name)).toBe("AbortError");
  let before = -1;
  while (before !== chunks) {
    before = chunks;
    await Bun.sleep(50);
  }
  entries.mockRestore();
  // The caller's next audit is not held up by the one that was left.
  expect(await admin.post("/ledger/audit")).toMatchObject({ ok: true, entries: 1 });
});
