import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
const mounts = "/proc/mounts";
const prefix = "sluice-run-";
/** A whole run writes less than one. */
const enoughBytes = 4 * 2 ** 30;

/**
 * The folder that all tests of a run write to, removed at the end of the run. It is in memory, where an fsync takes no time, if
 * there is room. Folders of killed runs are removed first.
 */
export function makeScratchFolder(): string {
  const parent = hasRoomInMemory() ? memory : tmpdir();
  for (const name of readdirSync(parent).filter((name) => name.startsWith(prefix)))
    if (!isRunning(Number(name.slice(prefix.length)))) removeScratchFolder(join(parent, name));
  const folder = join(parent, prefix + process.pid);
  mkdirSync(folder);
  return folder;
}

export function removeScratchFolder(folder: string): void {
  unmountBelow(folder);
  rmSync(folder, { recursive: true, force: true });
}

/** A small disk of a test that was killed: it would be busy for ever, and no later run could begin. */
function unmountBelow(folder: string): void {
  if (!existsSync(mounts)) return;
  for (const line of readFileSync(mounts, "utf8").split("\n")) {
    const place = line.split(" ")[1] ?? "";
    if (place.startsWith(`${folder}/`)) Bun.spawnSync(["umount", "-l", place]);
  }
}

/** Tests also compile libraries there, which containers often forbid to be loaded from memory. */
function hasRoomInMemory(): boolean {
  if (!existsSync(memory) || !existsSync(mounts)) return false;
  const mount = readFileSync(mounts, "utf8").match(/^\S+ \/dev\/shm tmpfs (\S+)/m);
  const { bavail, bsize } = statfsSync(memory);
  return mount !== null && !mount[1]?.split(",").includes("noexec") && bavail * bsize > enoughBytes;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
