import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
const prefix = "sluice-run-";
/** A whole run writes less than one. */
const enoughBytes = 4 * 2 ** 30;

/**
 * The folder in which all tests of a run write, and which goes with the run. In memory, where an fsync takes no time, if there is
 * room. What runs that were killed have left behind is removed first.
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
  rmSync(folder, { recursive: true, force: true });
}

/** Tests also compile libraries there, which containers often forbid to be loaded from memory. */
function hasRoomInMemory(): boolean {
  if (!existsSync(memory) || !existsSync("/proc/mounts")) return false;
  const mount = readFileSync("/proc/mounts", "utf8").match(/^\S+ \/dev\/shm tmpfs (\S+)/m);
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
