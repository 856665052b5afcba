import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { forgetServed, writeFilesForCommands } from "../../src/cli/serve/files-for-commands.ts";
import { loadSettings } from "../../src/config/load.ts";
import { maintainFolder } from "../../src/store/open.ts";
import { newPlace, type Place, sluice } from "./fixtures.ts";

/** Leaves in the data folder what a gateway leaves there whose data is in a database. */
function leftByGatewayOf(store: string, { folder }: Place): string {
  const dir = join(folder, "sluice-data");
  const { settings } = loadSettings({ env: {}, cwd: folder, flags: { store, data: dir } });
  mkdirSync(dir, { recursive: true });
  writeFilesForCommands(settings, { env: {}, cwd: folder });
  return dir;
}

describe("the folder of a gateway whose data is in a database", () => {
  const database = "postgres://sluice@db.example.com/sluice";
  const refusal = "keeps its data in the database db.example.com:5432/sluice; name that with --store";
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
  expect(problem("scandir")).toBe("is closed to this user; run this as its owner or as root, or");
  expect(problem("mkdir")).toBe("cannot be made by this user;");
});
