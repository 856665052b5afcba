import { expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { AdaptiveWriter } from "../../../src/store/journal/adaptive-writer.ts";
import { DriverChoice } from "../../../src/store/journal/driver-choice.ts";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { InlineWriter } from "../../../src/store/sqlite/writers/inline-writer.ts";
import { ThreadWriter } from "../../../src/store/sqlite/writers/thread-writer.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";

test("a ledger that is written by both in turn has every charge and every sum once", async () => {
  using folder = temporaryFolder();
  const { dir } = folder;
  const setup = await openSqliteStore({ dir, clock: systemClock, role: "operator" });
  const key = keyRecord();
  await setup.insertKey(key, 1_000);
  const file = dataFolder(dir).databaseFile;
  const database = openConnection(file, { busyTimeoutMs: 100 });
  const choice = new DriverChoice("inline");
  const writer = new AdaptiveWriter({
    inline: new InlineWriter(database),
    openThread: () => ThreadWriter.open(file),
    choice,
    onChange: () => {},
  });
  for (let batch = 0; batch < 12; batch += 1) {
    choice.decide(batch % 4 < 2 ? "inline" : "thread");
    await writer.write([settleItem(key.id, 10)], false);
  }
  await writer.close();
  database.close();
  expect(await setup.readTotals(key.id)).toMatchObject({ posted: 880, requests: 12 });
  expect(await summarizeUsage(setup, { by: "key", sinceMs: 0 })).toMatchObject([
    { requests: 12, spendNano: 120 },
  ]);
  await setup.close();
});
