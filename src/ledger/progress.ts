import type { PricedCharge } from "../store/store.ts";
import type { Hold } from "./hold.ts";

const defaultTickMs = 50;

export interface ProgressOptions {
  /** How long progress may wait before it is journaled. The progress of a stream that ends sooner is never written. */
  readonly tickMs?: number | undefined;
  readonly journal: (holds: readonly Hold[]) => void;
}

/**
 * Hands to the journal what open holds have produced, so that it can be charged after a crash. Only the progress of the last tick
 * can be missing there, which the client does not pay.
 */
export class ProgressNotes {
  readonly #options: ProgressOptions;
  /** Holds whose latest progress is not journaled yet, and some that have ended since. */
  readonly #waiting = new Set<Hold>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  take(hold: Hold, soFar: PricedCharge): void {
    if (!hold.progress(soFar)) return;
    this.#waiting.add(hold);
    this.#timer ??= this.#later();
  }

  /** Journals what is waiting. The timer does so too. */
  tell(): void {
    const open = [...this.#waiting].filter(({ state }) => state === "open");
    this.#waiting.clear();
    for (const hold of open) hold.hasRow = true;
    if (open.length > 0) this.#options.journal(open);
  }

  #later(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timer = null;
      this.tell();
    }, this.#options.tickMs ?? defaultTickMs);
    timer.unref();
    return timer;
  }
}
