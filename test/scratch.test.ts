import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeScratchFolder, removeScratchFolder } from "./scratch.ts";

test("a run has a folder of its own, and removes those of runs that were killed, but of none that runs", () => {
  const own = makeScratchFolder();
  const ended = Bun.spawnSync([process.execPath, "--version"]).pid;
  const [killed, running] = [ended, process.ppid].map((pid) => join(own, "..", `sluice-run-${pid}`));
  const isAnothers = existsSync(running ?? "");
  for (const folder of [killed, running]) mkdirSync(folder ?? "", { recursive: true });
  writeFileSync(join(killed ?? "", "left"), "behind");
  const disk = join(killed ?? "", "disk");
  mkdirSync(disk);
  // Without the right to mount there are no disks to clean up.
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]);
  try {
    removeScratchFolder(own);
    expect(makeScratchFolder()).toBe(own);
    expect([killed, running].map((folder) => existsSync(folder ?? ""))).toEqual([false, true]);
  } finally {
    removeScratchFolder(own);
    if (!isAnothers) removeScratchFolder(running ?? "");
  }
  expect(existsSync(own)).toBe(false);
});
