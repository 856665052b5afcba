import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deb } from "../../config/release/deb.ts";
import { version } from "../../package.json";
import { command, quickBuild, root, smallProgram } from "./made.ts";

/** dpkg installs into another folder here, as whoever builds images does; only root may create a user there. */
const canInstall = Bun.which("dpkg") !== null && process.getuid?.() === 0;
if (!canInstall) console.log("skipped: installing the deb takes dpkg and root");

describe.if(canInstall)("the deb", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-deb-"));
  const system = join(folder, "system");
  const file = join(folder, "sluice.deb");
  const dpkg = (...args: readonly string[]) =>
    command(
      [
        "dpkg",
        `--root=${system}`,
        "--force-script-chrootless",
        "--force-depends",
        "--force-confold",
        ...args,
      ],
      { cwd: folder },
    );
  const inSystem = (path: string) => join(system, path);

  beforeAll(async () => {
    process.chdir(root);
    for (const part of ["etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"])
      mkdirSync(inSystem(part), { recursive: true });
    await Bun.write(inSystem("var/lib/dpkg/status"), "");
    const { packages } = (await quickBuild(smallProgram)).target;
    const { bytes } = await deb(await quickBuild(smallProgram), packages?.deb ?? "");
    await Bun.write(file, bytes);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("installs the program, a user, its data folder and a unit", async () => {
    await dpkg("--install", file);
    expect(await dpkg("--status", "sluice")).toContain(`Version: ${version}`);
    expect(await dpkg("--verify", "sluice")).toBe("");
    expect(await command([inSystem("usr/bin/sluice")], { cwd: folder })).toBe("a small program\n");
    const [, uid, gid] = /^sluice:x:(\d+):(\d+):/m.exec(readFileSync(inSystem("etc/passwd"), "utf8")) ?? [];
    const data = statSync(inSystem("var/lib/sluice"));
    expect({ uid: String(data.uid), gid: String(data.gid), mode: data.mode & 0o777 }).toEqual({
      uid: uid ?? "no user",
      gid: gid ?? "no group",
      mode: 0o700,
    });
    const unit = readFileSync(inSystem("usr/lib/systemd/system/sluice.service"), "utf8");
    expect(unit).toContain("\nExecStart=/usr/bin/sluice serve\n");
    expect(unit).toContain("\nUser=sluice\nGroup=sluice\n");
    expect(unit).not.toContain("DynamicUser");
  });

  test("an upgrade keeps the data, its user and the changed configuration", async () => {
    const users = readFileSync(inSystem("etc/passwd"), "utf8");
    await Bun.write(inSystem("var/lib/sluice/sluice.db"), "a ledger");
    appendFileSync(inSystem("etc/sluice/sluice.toml"), "# by the administrator\n");
    await dpkg("--install", file);
    expect(readFileSync(inSystem("etc/passwd"), "utf8")).toBe(users);
    expect(readFileSync(inSystem("var/lib/sluice/sluice.db"), "utf8")).toBe("a ledger");
    expect(readFileSync(inSystem("etc/sluice/sluice.toml"), "utf8")).toEndWith("# by the administrator\n");
  });

  test("removal keeps data and configuration, and a purge keeps the data", async () => {
    await dpkg("--remove", "sluice");
    expect(existsSync(inSystem("usr/bin/sluice"))).toBe(false);
    expect(existsSync(inSystem("etc/sluice/sluice.toml"))).toBe(true);
    await dpkg("--purge", "sluice");
    expect(existsSync(inSystem("etc/sluice/sluice.toml"))).toBe(false);
    expect(readFileSync(inSystem("var/lib/sluice/sluice.db"), "utf8")).toBe("a ledger");
  });
});
