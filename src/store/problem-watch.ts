import { Repeating } from "../base/loop/repeating.ts";
import type { Trouble } from "./store.ts";

export interface TroubleWatchOptions {
  readonly store: { readonly trouble: Trouble | null };
  readonly onTrouble: (trouble: Trouble) => void;
  readonly onRecovered: () => void;
  readonly everyMs?: number;
}

const defaultEveryMs = 250;

/** Reports once when the store stops accepting requests, again if the reason changes, and once on recovery. */
export class ProblemWatch {
  readonly #options: TroubleWatchOptions;
  readonly #looking = new Repeating();
  #reported: string | null = null;

  constructor(options: TroubleWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#looking.start(this.#options.everyMs ?? defaultEveryMs, () => this.look());
    this.look();
  }

  look(): void {
    const { trouble } = this.#options.store;
    const reason = trouble?.reason ?? null;
    if (reason === this.#reported) return;
    this.#reported = reason;
    if (trouble === null) this.#options.onRecovered();
    else this.#options.onTrouble(trouble);
  }

  stop(): void {
    this.#looking.stop();
  }
}
