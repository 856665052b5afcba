import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { keyRecord, temporaryFolder } from "../fixtures.ts";

const modeOf = (path: string) => statSync(path).mode & 0o777;

test.each(["gateway", "operator"] as const)(
  "what others could read is closed to them by a %s that opens it, and told",
  async (role) => {
    using folder = temporaryFolder();
    const { dir } = folder;
    const first = await openSqliteStore({ dir, clock: systemClock, role: "gateway" });
    await first.insertKey(keyRecord(), 5);
    mkdirSync(join(dir, "backups"));
    writeFileSync(join(dir, "backups", "by-hand.db"), "");
    copyFileSync(join(dir, "sluice.db-wal"), join(dir, "kept-wal"));
    await first.close();
    copyFileSync(join(dir, "kept-wal"), join(dir, "sluice.db-wal"));
    const loose = ["sluice.db", "sluice.db-wal", "sluice.lock", "backups/by-hand.db"];
    for (const name of loose) chmodSync(join(dir, name), 0o644);
    const told: string[] = [];
    const store = await openSqliteStore({
      dir,
      clock: systemClock,
      role,
      onClosedToOthers: (file) => told.push(file),
    });
    expect(told.sort()).toEqual(loose.map((name) => join(dir, name)).sort());
    for (const name of loose) expect(modeOf(join(dir, name))).toBe(0o600);
    await store.close();
  },
);

test("a file that this user may not close to others is refused", async () => {
  if (process.getuid?.() !== 0 || Bun.which("setpriv") === null) {
    console.warn("SKIPPED: only root can give a file to another user, and setpriv is needed to be one");
    return;
  }
  using folder = temporaryFolder();
  const { dir } = folder;
  await (await openSqliteStore({ dir, clock: systemClock, role: "gateway" })).close();
  for (const name of readdirSync(dir)) chmodSync(join(dir, name), 0o666);
  chmodSync(dir, 0o777);
  const open = `
    const { openSqliteStore } = await import(${JSON.stringify(import.meta.resolve("../../../src/store/sqlite/open.ts"))});
    const { systemClock } = await import(${JSON.stringify(import.meta.resolve("../../../src/base/clock.ts"))});
    await openSqliteStore({ dir: ${JSON.stringify(dir)}, clock: systemClock, role: "operator" })
      .then(() => console.log("opened"), (error) => console.log(error.message));`;
  const script = join(dir, "open.ts");
  writeFileSync(script, open, { mode: 0o644 });
  const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  const { stdout, stderr } = Bun.spawnSync([...asNobody, process.execPath, script], {
    env: { HOME: dir, PATH: process.env["PATH"] ?? "", BUN_INSTALL_CACHE_DIR: dir },
    stderr: "pipe",
  });
  expect(stdout.toString() + stderr.toString()).toMatch(/Other users .* may read .*\(mode 666\).*chmod 600/);
});

test("the folder for backups is the owner's alone, whoever made it and whatever made the copy", async () => {
  using folder = temporaryFolder();
  const { dir } = folder;
  const [backups, copy] = [join(dir, "backups"), join(dir, "copy.db")];
  const store = await openSqliteStore({ dir, clock: systemClock, role: "operator" });
  await store.files.backup(copy);
  await store.close();
  await restoreDatabase({ dir, from: copy, nowMs: 0 });
  expect(modeOf(backups)).toBe(0o700);
  chmodSync(backups, 0o755);
  const database = openConnection(join(dir, "sluice.db"), { busyTimeoutMs: 0 });
  const steps = [...migrations, "CREATE TABLE later (x)"];
  migrate(database, { file: join(dir, "sluice.db"), nowMs: 0, migrations: steps });
  database.close();
  expect(modeOf(backups)).toBe(0o700);
  expect(readdirSync(backups)).toHaveLength(2);
  for (const name of readdirSync(backups)) expect(modeOf(join(backups, name))).toBe(0o600);
});
