import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";

export interface SmallDisk extends Disposable {
  readonly folder: string;
  /** Takes all the room there is; removing the file that it names gives it back. */
  fill(): string;
}

/** Whether a disk can be mounted here. Tests that fill one are skipped where it cannot. */
export const canMountSmallDisk = canMount();
if (!canMountSmallDisk) console.warn("SKIPPED: no small disk can be mounted here, so none can be filled");

function canMount(): boolean {
  try {
    mountSmallDisk(1)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** A separate disk, so that filling it harms nothing else. */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = newFolder();
  const mount = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
  if (mount.exitCode !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`no small disk can be mounted: ${mount.stderr}`);
  }
  return {
    folder,
    fill: () => fill(join(folder, "filler")),
    [Symbol.dispose]() {
      Bun.spawnSync(["umount", "-l", folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function fill(file: string): string {
  const descriptor = openSync(file, "w");
  for (const size of [1024 * 1024, 4096, 1]) {
    const block = Buffer.alloc(size);
    try {
      while (writeSync(descriptor, block) === size);
    } catch {
      // Full, as far as blocks of this size go.
    }
  }
  closeSync(descriptor);
  return file;
}
