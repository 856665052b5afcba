import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rpm } from "../../config/release/rpm.ts";
import { version } from "../../package.json";
import { newFolder } from "../support/new-folder.ts";
import { command, quickBuild, root, smallProgram } from "./made.ts";

const canInstall = Bun.which("rpm") !== null && process.getuid?.() === 0;
if (!canInstall) console.log("skipped: reading and installing the rpm takes rpm and root");

describe.if(canInstall)("the rpm", () => {
  const folder = newFolder();
  const system = join(folder, "system");
  const file = join(folder, "sluice.rpm");
  const inSystem = (path: string) => join(system, path);
  const run = (...args: readonly string[]) => command(["rpm", ...args], { cwd: folder });
  /** The scripts would run in a system that has no shell; they are the deb's, where they do run. */
  const install = (...how: readonly string[]) =>
    run("--root", system, "--nodeps", "--noscripts", "--ignorearch", ...how);

  beforeAll(async () => {
    process.chdir(root);
    mkdirSync(inSystem("var/lib/rpm"), { recursive: true });
    const build = await quickBuild(smallProgram);
    await Bun.write(file, (await rpm(build, build.target.packages?.rpm ?? "")).bytes);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("is sound, and says what it is and what it needs", async () => {
    expect(await run("--checksig", "--nosignature", file)).toContain("digests OK");
    expect(await run("--query", "--package", file, "--queryformat", "%{NAME} %{VERSION} %{LICENSE}")).toBe(
      `sluice ${version} Apache-2.0`,
    );
    expect(await run("--query", "--package", "--requires", file)).toContain("libc.so.6(GLIBC_2.17)(64bit)");
    expect(await run("--query", "--package", "--configfiles", file)).toBe("/etc/sluice/sluice.toml\n");
    const scripts = await run("--query", "--package", "--scripts", file);
    for (const part of ["useradd", "systemctl disable sluice.service sluice@.service", "daemon-reload"])
      expect(scripts).toContain(part);
  });

  test("installs, keeps a changed configuration over an upgrade, and is removed", async () => {
    await install("--install", file);
    expect(await command([inSystem("usr/bin/sluice")], { cwd: folder })).toBe("a small program\n");
    expect(await run("--root", system, "--verify", "--nodeps", "--noscripts", "sluice")).toBe("");
    appendFileSync(inSystem("etc/sluice/sluice.toml"), "# by the administrator\n");
    await install("--upgrade", "--force", file);
    expect(readFileSync(inSystem("etc/sluice/sluice.toml"), "utf8")).toEndWith("# by the administrator\n");
    await run("--root", system, "--nodeps", "--noscripts", "--erase", "sluice");
    expect(existsSync(inSystem("usr/bin/sluice"))).toBe(false);
  });
});
