import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { deb } from "../../config/release/deb.ts";
import { beforeRemove } from "../../config/release/system-package.ts";
import { version } from "../../package.json";
import { locateData } from "../../src/config/locate-data.ts";
import { newFolder } from "../support/new-folder.ts";
import { command, quickBuild, root, smallProgram } from "./made.ts";

/** dpkg installs into another folder here, as image builders do; only root can create a user there. */
const canInstall = Bun.which("dpkg") !== null && process.getuid?.() === 0;
if (!canInstall) console.log("skipped: installing the deb takes dpkg and root");

describe.if(canInstall)("the deb", () => {
  const folder = newFolder();
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

  test("its configuration names the data folder, so that plain commands find what the service uses", () => {
    const file = inSystem("etc/sluice/sluice.toml");
    expect(locateData({ env: {}, cwd: folder, systemFile: file })).toBe("/var/lib/sluice");
  });

  test("only root can read the file for secrets, and an upgrade keeps what is in it", async () => {
    const secrets = inSystem("etc/sluice/secrets.env");
    expect(statSync(secrets).mode & 0o777).toBe(0o600);
    appendFileSync(secrets, "OPENAI_API_KEY=canary\n");
    await dpkg("--install", file);
    expect(readFileSync(secrets, "utf8")).toBe("OPENAI_API_KEY=canary\n");
    expect(statSync(secrets).mode & 0o777).toBe(0o600);
  });

  test("documents, the Grafana dashboard and Prometheus rules are where their links point", () => {
    for (const path of ["docs/README.md", "config/grafana/sluice.json", "config/prometheus/alerts.yml"])
      expect(readFileSync(inSystem(`usr/share/doc/sluice/${path}`), "utf8")).toBe(readFileSync(path, "utf8"));
  });

  test("removal stops and disables every instance of the template, not only the plain unit", async () => {
    const bin = join(folder, "bin");
    mkdirSync(bin, { recursive: true });
    const calls = join(folder, "systemctl-calls");
    writeFileSync(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >>${calls}\n`, { mode: 0o755 });
    const script = beforeRemove.replace("[ -d /run/systemd/system ]", "true");
    await command(["sh", "-ec", script], { cwd: folder, env: { PATH: `${bin}:${process.env["PATH"]}` } });
    expect(readFileSync(calls, "utf8").trim().split("\n")).toEqual([
      "stop sluice.service sluice@*.service",
      // systemd disables all instances of a template by the template's own name, and takes no pattern here.
      "disable sluice.service sluice@.service",
    ]);
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
    expect(existsSync(inSystem("etc/sluice/secrets.env"))).toBe(false);
    expect(readFileSync(inSystem("var/lib/sluice/sluice.db"), "utf8")).toBe("a ledger");
  });
});
