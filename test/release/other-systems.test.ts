import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../config/release/compile.ts";
import { type Target, targets } from "../../config/release/targets.ts";
import { version } from "../../package.json";
import { installed } from "../clients/installed.ts";
import { newFolder } from "../support/new-folder.ts";
import { startSluice } from "../support/sluice.ts";
import { root } from "./made.ts";

/** arm64 is emulated, which takes ten times as long, so it belongs to the long runs. macOS and Windows cannot be had here. */
const names = process.env["SLUICE_SOAK"] === "1" ? ["x64-musl", "arm64", "arm64-musl"] : ["x64-musl"];
const canRun = process.platform === "linux" && process.arch === "x64" && process.getuid?.() === 0;
if (!canRun) console.log("SKIPPED: executables for other systems run on Linux x64, for root");

const folder = newFolder();
const targetBefore = process.env["SLUICE_TEST_TARGET"] ?? "source";
afterAll(() => {
  process.env["SLUICE_TEST_TARGET"] = targetBefore;
  rmSync(folder, { recursive: true, force: true });
});

/** What `test/release/other-system.sh` makes for each, or null. */
const systems = canRun
  ? await Promise.all(
      names.map(async (name) => {
        const system = `linux-${name}`;
        const script = join(import.meta.dir, "other-system.sh");
        return {
          system,
          parts: await installed(`system-2-${system}`, (into) => [["bash", script, system, into]]),
        };
      }),
    )
  : [];

describe.each(systems)("the executable for $system", ({ system, parts }) => {
  test.if(parts !== null)(
    "says what it is, serves a call, charges it once, and stops when it is told to",
    async () => {
      process.chdir(root);
      process.env["SLUICE_TEST_TARGET"] = await runnable(targetNamed(system), parts ?? "");
      await using sluice = await startSluice();
      const show = async (...args: string[]) => JSON.parse((await sluice.run(...args, "--json")).stdout);
      expect(await show("version")).toMatchObject({
        version,
        platform: "linux",
        arch: system.includes("arm64") ? "arm64" : "x64",
      });
      const key = await sluice.createKey();
      const body = { model: "demo-small", stream: true, messages: [{ role: "user", content: "Hello" }] };
      const response = await sluice.request("/v1/chat/completions", { key, body });
      expect(await response.text()).toContain("data: [DONE]");
      expect(await show("keys", "show", key.id)).toMatchObject({ recorded_requests: 1 });
      expect((await sluice.run("ledger", "audit")).code).toBe(0);
      expect(await sluice.stop()).toBe(0);
    },
    600_000,
  );
});

function targetNamed(system: string): Target {
  const target = targets.find(({ name }) => name === system);
  if (target === undefined) throw new Error(`no release is made for ${system}`);
  return target;
}

/** A script that runs the executable with the other system's libraries: in a chroot, which has no /proc, or by the emulator. */
async function runnable(target: Target, parts: string): Promise<string> {
  const place = join(folder, target.name);
  const executable = join(place, "sluice");
  await compile({ outfile: executable, target: target.bun, commit: null });
  const system = join(place, "root");
  cpSync(join(parts, "root"), system, { recursive: true, verbatimSymlinks: true });
  const script = join(place, "run");
  const lines = target.name.includes("arm64")
    ? // The runtime's settings are given here: an emulated program cannot start itself again in place.
      [
        "export MIMALLOC_PURGE_DELAY=1000 MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000",
        `exec ${join(parts, "qemu-aarch64-static")} -L ${system} ${executable} "$@"`,
      ]
    : [
        `exec unshare --mount sh -c 'mount --bind ${tmpdir()} ${system}${tmpdir()} &&
          exec chroot ${system} ${executable} "$@"' sh "$@"`,
      ];
  mkdirSync(join(system, tmpdir()), { recursive: true });
  writeFileSync(script, `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
  return script;
}
