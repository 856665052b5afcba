import { Repeating } from "../base/loop/repeating.ts";
import type { StoreProblem } from "./store.ts";

export interface ProblemWatchOptions {
  readonly store: { readonly problem: StoreProblem | null };
  readonly onProblem: (problem: StoreProblem) => void;
  readonly onRecovered: () => void;
  readonly everyMs?: number;
}

const defaultEveryMs = 250;

/** Reports once when the store stops accepting requests, again if the reason changes, and once on recovery. */
export class ProblemWatch {
  readonly #options: ProblemWatchOptions;
  readonly #looking = new Repeating();
  #reported: string | null = null;

  constructor(options: ProblemWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#looking.start(this.#options.everyMs ?? defaultEveryMs, () => this.look());
    this.look();
  }

  look(): void {
    const { problem } = this.#options.store;
    const reason = problem?.reason ?? null;
    if (reason === this.#reported) return;
    this.#reported = reason;
    if (problem === null) this.#options.onRecovered();
    else this.#options.onProblem(problem);
  }

  stop(): void {
    this.#looking.stop();
  }
}
