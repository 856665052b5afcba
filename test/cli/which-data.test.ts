import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { forgetServed, servedNames, writeFilesForCommands } from "../../src/cli/serve/files-for-commands.ts";
import { showSecrets } from "../../src/cli/serve/show-secrets.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { loadSettings } from "../../src/config/load.ts";
import { maintainFolder } from "../../src/store/open.ts";
import { newPlace, type Place, sluice } from "./fixtures.ts";

/** Leaves in the data folder what a gateway leaves there whose data is in a database. */
function leftByGatewayOf(store: string, { folder }: Place): string {
  const dir = join(folder, "sluice-data");
  const { settings } = loadSettings({ env: {}, cwd: folder, flags: { store, data: dir } });
  mkdirSync(dir, { recursive: true });
  writeFilesForCommands(settings, { env: {}, cwd: folder }, "http://127.0.0.1:8787");
  return dir;
}

describe("the folder of a gateway whose data is in a database", () => {
  const database = "postgres://sluice@db.example.com/sluice";
  const refusal = "uses the database db.example.com:5432/sluice; pass it with --store";
  const create = ["keys", "create", "--mode", "credit"];

  test("has no data of its own, and none is begun there", async () => {
    const place = newPlace();
    const dir = leftByGatewayOf(database, place);
    for (const words of [["keys", "list"], create]) {
      const said = await sluice(place, ...words);
      expect(said).toMatchObject({ code: 1, stdout: "" });
      expect(said.stderr).toContain(`the gateway of ${dir} ${refusal}`);
    }
    expect(existsSync(join(dir, "sluice.db"))).toBe(false);
  });

  test("may have older data, which is read and not written, until a copy is put there", async () => {
    const place = newPlace();
    await sluice(place, ...create);
    const dir = leftByGatewayOf(database, place);
    expect((await sluice(place, "keys", "list")).code).toBe(0);
    expect((await sluice(place, ...create)).stderr).toContain(refusal);
    forgetServed(dir);
    expect((await sluice(place, ...create)).code).toBe(0);
  });
});

test("a folder that belongs to another user is told as such", async () => {
  const folder = await maintainFolder("/var/lib/sluice");
  const problem = (syscall: string) =>
    folder.describeProblem(Object.assign(new Error(), { code: "EACCES", syscall }));
  expect(problem("scandir")).toBe("cannot be used: permission denied; run this as its owner or root, or");
  expect(problem("mkdir")).toBe("cannot be created: permission denied;");
});

describe("the file that points to the data of a gateway", () => {
  /** A place whose pointer names data elsewhere, and that data. */
  async function pointedPlace(): Promise<{ place: Place; pointer: string; data: string }> {
    const [place, other] = [newPlace(), newPlace()];
    await sluice(other, "keys", "create", "--mode", "credit", "--label", "elsewhere");
    const data = join(other.folder, "sluice-data");
    const pointer = join(place.folder, ".sluice-data");
    writeFileSync(pointer, `${data}\n`);
    return { place, pointer, data };
  }

  test("is followed if this user, or root, has put it there", async () => {
    const { place } = await pointedPlace();
    expect((await sluice(place, "keys", "list")).stdout).toContain("elsewhere");
  });

  const isRoot = process.getuid?.() === 0;
  if (!isRoot) console.warn("SKIPPED: only root can give a file to another user");

  test.skipIf(!isRoot)("is not if another user has, whatever the command", async () => {
    const { place, pointer, data } = await pointedPlace();
    chownSync(pointer, 65534, 65534);
    chmodSync(join(data, "sluice.db"), 0o644);
    for (const words of [
      ["keys", "list"],
      ["keys", "create", "--mode", "credit"],
      ["restore", "x.db", "--yes"],
    ]) {
      const said = await sluice(place, ...words);
      expect(said).toMatchObject({ code: 1, stdout: "" });
      expect(said.stderr).toContain("belongs to another user, so it is ignored; pass the folder with --data");
    }
    expect(statSync(join(data, "sluice.db")).mode & 0o777).toBe(0o644);
    expect((await sluice(place, "keys", "list", "--data", data)).stdout).toContain("elsewhere");
  });

  test("is not if it is a symbolic link", async () => {
    const { place, pointer } = await pointedPlace();
    renameSync(pointer, `${pointer}.real`);
    symlinkSync(`${pointer}.real`, pointer);
    expect((await sluice(place, "keys", "list")).stderr).toContain("is a symbolic link, so it is ignored");
  });
});

describe("what a command finds in a shared working folder", () => {
  const isRoot = process.getuid?.() === 0;
  const neighbor = 65534;

  /** A neighbor's folder says where to send the key. */
  function planted(): Place & { readonly dir: string } {
    const place = newPlace();
    const dir = join(place.folder, "sluice-data");
    mkdirSync(dir);
    writeFileSync(join(dir, "served.json"), JSON.stringify({ address: "http://127.0.0.1:9" }));
    return { ...place, dir };
  }
  const connect = (place: Place, ...more: string[]) =>
    sluice(place, "connect", "curl", "--key", "slu_mine", ...more);

  test.skipIf(!isRoot)(
    "is not used if it is another user's folder, a link of theirs, or their file",
    async () => {
      const place = planted();
      chownSync(place.dir, neighbor, neighbor);
      const why =
        "the folder belongs to another user, so it is not used; if you trust it, pass it with --data";
      for (const words of [
        ["connect", "curl", "--key", "slu_mine"],
        ["keys", "list"],
        ["serve", "--port", "0"],
      ]) {
        const said = await sluice(place, ...words);
        expect(said).toMatchObject({ code: 1, stdout: "" });
        expect(said.stderr).toContain(why);
      }
      expect((await connect(place, "--data", place.dir)).stdout).toContain("http://127.0.0.1:9/v1");
      const linked = newPlace();
      const own = planted();
      symlinkSync(own.dir, join(linked.folder, "sluice-data"));
      expect((await connect(linked)).code).toBe(0);
      lchownSync(join(linked.folder, "sluice-data"), neighbor, neighbor);
      expect((await connect(linked)).stderr).toContain("belongs to another user");
      const file = join(newPlace().folder, "sluice.toml");
      writeFileSync(file, "");
      chownSync(file, neighbor, neighbor);
      const refused = await sluice({ folder: dirname(file) }, "serve", "--port", "0");
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("the file belongs to another user, so it is not used");
    },
  );

  test("is not used if other users can write it", async () => {
    const place = planted();
    chmodSync(place.dir, 0o777);
    expect((await connect(place)).stderr).toContain("the folder can be written by other users");
    chmodSync(place.dir, 0o755);
    expect((await connect(place)).code).toBe(0);
    const file = join(place.folder, "sluice.toml");
    writeFileSync(file, "");
    chmodSync(file, 0o666);
    for (const words of [
      ["config", "check"],
      ["serve", "--port", "0"],
    ]) {
      const said = await sluice(place, ...words);
      expect(said).toMatchObject({ code: 1, stdout: "" });
      expect(said.stderr).toContain("the file can be written by other users, so it is not used");
    }
    const named = await sluice(place, "config", "check", "--config", file);
    expect(named.stderr).not.toContain("not used");
  });

  test.skipIf(!isRoot)("is not used if a group of more than this user can write it", async () => {
    const place = planted();
    chownSync(place.dir, 0, neighbor);
    chmodSync(place.dir, 0o775);
    expect((await connect(place)).stderr).toContain("the folder can be written by other users");
    chownSync(place.dir, 0, 0);
    expect((await connect(place)).code).toBe(0);
  });
});

test("what a gateway leaves for commands takes the place of a link, and is not written through it", () => {
  const place = newPlace();
  const dir = join(place.folder, "sluice-data");
  const victims = ["one", "two"].map((name) => join(place.folder, name));
  for (const victim of victims) writeFileSync(victim, "untouched");
  mkdirSync(dir);
  symlinkSync(victims[0] ?? "", join(dir, "served.json"));
  symlinkSync(victims[1] ?? "", join(place.folder, ".sluice-data"));
  const { settings } = loadSettings({ env: {}, cwd: place.folder, flags: { data: dir } });
  // Started elsewhere, commands of that folder would look for the data there.
  writeFilesForCommands(settings, { env: {}, cwd: place.folder }, "http://127.0.0.1:8787");
  writeFilesForCommands(
    { ...settings, server: { ...settings.server, data: `${dir}/.` } },
    { env: {}, cwd: place.folder },
    "http://127.0.0.1:8787",
  );
  for (const victim of victims) expect(readFileSync(victim, "utf8")).toBe("untouched");
  expect(servedNames(dir)?.models).not.toEqual([]);
  expect(readFileSync(join(place.folder, ".sluice-data"), "utf8")).toBe(`${dir}/.\n`);
});

test("secrets are not written through a link in the data folder", () => {
  const place = newPlace();
  const dir = join(place.folder, "sluice-data");
  const victim = join(place.folder, "victim");
  mkdirSync(dir);
  writeFileSync(victim, "untouched", { mode: 0o644 });
  symlinkSync(victim, join(dir, "first-start.txt"));
  const { settings } = loadSettings({ env: {}, cwd: place.folder, flags: { data: dir } });
  const terminal = {
    env: { JOURNAL_STREAM: "1:2" },
    columns: null,
    print: () => undefined,
  } as unknown as Terminal;
  expect(() => showSecrets("admin_token", "secret", { settings, json: false, terminal })).toThrow("ELOOP");
  expect(readFileSync(victim, "utf8")).toBe("untouched");
  expect(statSync(victim).mode & 0o777).toBe(0o644);
});

test("what is kept is told as the gateway of the data folder has it, wherever its configuration is", async () => {
  const [place, service] = [newPlace(), newPlace()];
  const dir = join(place.folder, "sluice-data");
  await sluice(place, "keys", "create", "--mode", "credit");
  const file = join(service.folder, "sluice.toml");
  writeFileSync(file, "[retention]\nrequest_rows = 50");
  const { settings } = loadSettings({ file, env: {}, cwd: service.folder, flags: { data: dir } });
  writeFilesForCommands(settings, { env: {}, cwd: service.folder }, "http://127.0.0.1:8787");
  expect((await sluice(place, "store", "size")).stdout).toContain("kept for 30 days, at most 50\n");
  rmSync(file);
  expect((await sluice(place, "store", "size")).stdout).toContain("at most 1,000,000\n");
});
