import type { Clock } from "../base/clock.ts";
import type { PricedCharge } from "../store/store.ts";
import type { Hold } from "./hold.ts";

/** Minimum interval between two writes of one hold's progress. */
const progressEveryMs = 200;
const defaultTickMs = 50;

export interface ProgressOptions {
  readonly clock: Clock;
  /** How long progress may wait before it is journaled. The progress of a stream that ends sooner is never written. */
  readonly tickMs?: number | undefined;
  readonly journal: (holds: readonly Hold[]) => void;
}

/** Journals from time to time what open holds have produced, so that it can be charged after a crash. */
export class ProgressNotes {
  readonly #options: ProgressOptions;
  /** Holds whose latest progress is not journaled yet, and some that have ended since. */
  #unknown: Hold[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Cheap enough for every chunk of a stream. */
  take(hold: Hold, soFar: PricedCharge): void {
    if (!hold.progress(soFar)) return;
    if (!hold.hasUnjournaledProgress) this.#unknown.push(hold);
    hold.hasUnjournaledProgress = true;
    this.#timer ??= this.#later();
  }

  /** Journals what is due. The timer calls this while there is anything to write. */
  tell(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isDue = ({ journaledAtMs }: Hold) =>
      journaledAtMs === null || nowMs - journaledAtMs >= progressEveryMs;
    const open = this.#unknown.filter(({ state }) => state === "open");
    const due = open.filter(isDue);
    this.#unknown = open.filter((hold) => !isDue(hold));
    for (const hold of due) {
      hold.journaledAtMs = nowMs;
      hold.hasUnjournaledProgress = false;
    }
    if (due.length > 0) this.#options.journal(due);
  }

  #later(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timer = null;
      this.tell();
      if (this.#unknown.length > 0) this.#timer = this.#later();
    }, this.#options.tickMs ?? defaultTickMs);
    timer.unref();
    return timer;
  }
}
