import { residentBytes } from "./resident-bytes.ts";

/** A thread's current work. */
export interface Activity {
  /** Nothing is in flight, or only streams whose clients do not read. */
  readonly isIdle: boolean;
  /** Grows with every request, or every message of a thread. */
  readonly admitted: number;
}

export interface Memory {
  residentBytes(): number;
  collect(): void;
}

const pollEveryMs = 500;
/** Number of checks in a row that must find no activity: at least a second. */
const quietChecks = 2;
/** By then the system has all memory that a collection freed, so an idle thread looks no more. */
const lastLook = 20;
/** A collection that could not free more than this is not worth its pause. */
const minGrowthBytes = 32 * 1024 * 1024;

/**
 * Returns memory to the system after a rush. The collector runs as memory is allocated, so once requests stop, nothing
 * makes it run: after all cells of the benchmark 175 to 200 MB stayed resident for five seconds or more, and 130 to 160
 * are left three seconds after them with this. A full collection takes 35 to 80 ms, during which nothing is served, so
 * it waits until nothing has been in flight for a second, and happens once per rush. (A concurrent one, `Bun.gc(false)`,
 * returned nothing: it does not sweep.)
 */
export class IdleCollection {
  readonly #activity: () => Activity | null;
  readonly #memory: Memory;
  #admitted = 0;
  #quietChecks = 0;
  /** The lowest resident size since the last collection; memory is returned with a delay. */
  #leastBytes: number;

  /** `activity` returns null while there is no gateway. */
  constructor(activity: () => Activity | null, memory: Memory) {
    this.#activity = activity;
    this.#memory = memory;
    this.#leastBytes = memory.residentBytes();
  }

  look(): void {
    const activity = this.#activity();
    if (activity === null || !activity.isIdle || activity.admitted !== this.#admitted) {
      this.#admitted = activity?.admitted ?? 0;
      this.#quietChecks = 0;
      return;
    }
    this.#quietChecks += 1;
    if (this.#quietChecks < quietChecks || this.#quietChecks > lastLook) return;
    const residentBytes = this.#memory.residentBytes();
    this.#leastBytes = Math.min(this.#leastBytes, residentBytes);
    if (this.#quietChecks > quietChecks || residentBytes - this.#leastBytes < minGrowthBytes) return;
    this.#memory.collect();
    this.#leastBytes = this.#memory.residentBytes();
  }
}

const processMemory: Memory = {
  residentBytes,
  collect: () => Bun.gc(true),
};

/** Collects the memory of the thread that calls it. Checks the activity until the timer is cleared. */
export function collectWhenIdle(activity: () => Activity | null): ReturnType<typeof setInterval> {
  const collection = new IdleCollection(activity, processMemory);
  const timer = setInterval(() => collection.look(), pollEveryMs);
  timer.unref();
  return timer;
}
