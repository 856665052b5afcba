import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk extends Disposable {
  readonly folder: string;
  /** Takes all the room there is; removing the file that it names gives it back. */
  fill(): string;
}

/** A disk of its own, so that filling it harms nobody; null, and said aloud, where nobody may mount one. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  const folder = mkdtempSync(join(tmpdir(), "sluice-disk-"));
  const { exitCode } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
  if (exitCode !== 0) {
    console.warn("SKIPPED IN PART: this machine lets nobody mount a small disk, so it cannot be filled");
    rmSync(folder, { recursive: true, force: true });
    return null;
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
