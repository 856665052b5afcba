import { statfsSync } from "node:fs";
import { msPerDay, msPerHour } from "../base/clock.ts";

export interface DiskSpace {
  readonly freeBytes: number;
  /** How much the free space shrank within the last 24 hours, or since the start; 0 if it grew. */
  readonly dayGrowthBytes: number;
}

/** With less free space than this, or than a day's growth, the operator is warned before requests fail. */
export const lowDiskBytes = 1_000_000_000;

/** Remembers the free space of each hour of a day. */
export class DiskWatch {
  readonly #readFree: () => number;
  #samples: { readonly atMs: number; readonly freeBytes: number }[] = [];

  constructor(readFree: () => number) {
    this.#readFree = readFree;
  }

  /** Null if the space is sufficient, or the folder cannot be read now. */
  readLow(nowMs: number): DiskSpace | null {
    const freeBytes = this.#readSafely();
    if (freeBytes === null) return null;
    this.#samples = this.#samples.filter(({ atMs }) => atMs > nowMs - msPerDay && atMs <= nowMs);
    const lastMs = this.#samples.at(-1)?.atMs ?? -msPerHour;
    if (nowMs - lastMs >= msPerHour) this.#samples.push({ atMs: nowMs, freeBytes });
    const first = this.#samples[0]?.freeBytes ?? freeBytes;
    const dayGrowthBytes = Math.max(0, first - freeBytes);
    return freeBytes < Math.max(lowDiskBytes, dayGrowthBytes) ? { freeBytes, dayGrowthBytes } : null;
  }

  #readSafely(): number | null {
    try {
      return this.#readFree();
    } catch {
      return null;
    }
  }
}

export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
