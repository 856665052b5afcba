import { expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { chownToFolderOwner } from "../../../src/base/files/mode.ts";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { createBackupFolder } from "../../../src/store/sqlite/files/backup-folder.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { stageRestore } from "../../../src/store/sqlite/files/staged-restore.ts";
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
      onPermissionsRestricted: (file) => told.push(file),
    });
    expect(told.sort()).toEqual(loose.map((name) => join(dir, name)).sort());
    for (const name of loose) expect(modeOf(join(dir, name))).toBe(0o600);
    await store.close();
  },
);

test.each(["gateway", "operator"] as const)(
  "what a link in the folder points to is left alone by a %s",
  async (role) => {
    using folder = temporaryFolder();
    using elsewhere = temporaryFolder();
    const { dir } = folder;
    await (await openSqliteStore({ dir, clock: systemClock, role: "gateway" })).close();
    const victims = ["passwd", "shadow"].map((name) => join(elsewhere.dir, name));
    for (const victim of victims) writeFileSync(victim, "x");
    for (const path of [...victims, elsewhere.dir]) chmodSync(path, 0o755);
    symlinkSync(victims[0] ?? "", join(dir, "sluice.db.copy"));
    symlinkSync(elsewhere.dir, join(dir, "backups"));
    const told: string[] = [];
    const onPermissionsRestricted = (file: string) => told.push(file);
    await (await openSqliteStore({ dir, clock: systemClock, role, onPermissionsRestricted })).close();
    createBackupFolder(dataFolder(dir));
    expect(told).toEqual([]);
    for (const path of [...victims, elsewhere.dir]) expect(modeOf(path)).toBe(0o755);
  },
);

/** Only loads what it needs as root: another user may not be let into the folder of the sources. */
const openAsNobody = (dir: string) => `
  const { openSqliteStore } = await import(${JSON.stringify(import.meta.resolve("../../../src/store/sqlite/open.ts"))});
  const { systemClock } = await import(${JSON.stringify(import.meta.resolve("../../../src/base/clock.ts"))});
  process.setegid(65534);
  process.seteuid(65534);
  await openSqliteStore({ dir: ${JSON.stringify(dir)}, clock: systemClock, role: "operator" })
    .then(() => console.log("opened"), (error) => console.log(error.message));`;

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("SKIPPED: only root can give a file to another user, and become one");

test.skipIf(!isRoot)("a file that this user may not close to others is refused", async () => {
  using folder = temporaryFolder();
  const { dir } = folder;
  await (await openSqliteStore({ dir, clock: systemClock, role: "gateway" })).close();
  for (const name of readdirSync(dir)) chmodSync(join(dir, name), 0o666);
  chmodSync(dir, 0o777);
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", openAsNobody(dir)], { stderr: "pipe" });
  expect(stdout.toString() + stderr.toString()).toMatch(/readable by other users \(mode 666\).*chmod 600/);
});

test.skipIf(!isRoot)("what root makes in the folder of a service is the service's", async () => {
  using folder = temporaryFolder();
  const { dir } = folder;
  chownSync(dir, 65534, 65534);
  const file = join(dir, "sluice.db");
  const store = await openSqliteStore({ dir, clock: systemClock, role: "operator" });
  const copy = join(dir, "copy.db");
  await store.files.backup(copy);
  await store.close();
  await restoreDatabase({ dir, from: copy, nowMs: 0 });
  const database = openConnection(file, { busyTimeoutMs: 0 });
  migrate(database, { file, nowMs: 0, migrations: [...migrations, "CREATE TABLE later (x)"] });
  database.close();
  await stageRestore({ dir, from: copy, nowMs: 1 });
  const ownerOf = (name: string) => statSync(join(dir, name)).uid;
  for (const name of ["sluice.db", "sluice.lock", "sluice.restore-1", "backups"])
    expect([name, ownerOf(name)]).toEqual([name, 65534]);
  for (const name of readdirSync(join(dir, "backups"))) expect(ownerOf(join("backups", name))).toBe(65534);
});

test.skipIf(!isRoot)("what the owner of a folder has put there is not given to them", () => {
  using folder = temporaryFolder();
  using elsewhere = temporaryFolder();
  const victim = join(elsewhere.dir, "shadow");
  writeFileSync(victim, "x");
  chownSync(folder.dir, 65534, 65534);
  const [soft, hard] = [join(folder.dir, "soft"), join(folder.dir, "hard")];
  symlinkSync(victim, soft);
  linkSync(victim, hard);
  for (const path of [soft, hard]) chownToFolderOwner(path);
  expect(statSync(victim).uid).toBe(0);
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

/** Puts a link in the place of a folder, and the folder back, until it is killed. */
const swapping = `
const { renameSync } = require("node:fs");
const [folder, link] = process.argv.slice(-2);
console.log("begun");
for (;;) for (const [from, to] of [[folder, "aside"], [link, folder], [folder, link], ["aside", folder]]) renameSync(from, to);
`;

test.skipIf(!isRoot)("root gives nothing away by a folder that is swapped meanwhile", async () => {
  using folder = temporaryFolder();
  const [data, link, other] = ["data", "link", "other"].map((name) => join(folder.dir, name)) as [
    string,
    string,
    string,
  ];
  for (const dir of [data, other]) {
    mkdirSync(dir);
    writeFileSync(join(dir, "sluice.db"), "");
  }
  chownSync(data, 65534, 65534);
  symlinkSync(other, link);
  const swapper = Bun.spawn([process.execPath, "-e", swapping, data, link], {
    cwd: folder.dir,
    stdout: "pipe",
  });
  await swapper.stdout.getReader().read();
  for (let call = 0; call < 20_000; call += 1) {
    try {
      chownToFolderOwner(join(data, "sluice.db"));
    } catch {
      // There is no folder at this moment.
    }
  }
  swapper.kill();
  await swapper.exited;
  expect(statSync(join(other, "sluice.db")).uid).toBe(0);
});
