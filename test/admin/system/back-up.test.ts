import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { backUp } from "../../../src/admin/system/back-up.ts";
import type { Store } from "../../../src/store/store.ts";
import { testEachStore } from "../../store/each-store.ts";
import { temporaryFolder } from "../../store/fixtures.ts";
import { FakeClock } from "../../support/clock.ts";

testEachStore(
  "a backup is one file if the store is made of files, and is refused otherwise",
  async (database) => {
    using folder = temporaryFolder();
    const clock = new FakeClock();
    const store = await database.openOperator(clock);
    const file = join(folder.dir, "copy.db");
    if (store.files === null) {
      await expect(backUp({ store, clock }, file)).rejects.toThrow("pg_dump");
      expect(existsSync(file)).toBe(false);
    } else {
      const { bytes } = await backUp({ store, clock }, file);
      expect(bytes).toBe(statSync(file).size);
    }
    await store.close();
  },
);

test("a store that is not made of files refuses a backup, and names what to use instead", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "copy.db");
  // Of a store it reads only `files`.
  const store = { files: null } as Store;
  await expect(backUp({ store, clock: new FakeClock() }, file)).rejects.toThrow("back it up with `pg_dump`");
  expect(existsSync(file)).toBe(false);
});
