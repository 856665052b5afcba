import { countTexts } from "./bpe.ts";
import { parseModelInput } from "./model-input.ts";

declare const self: Worker;

/** Texts, or the body of a request, which the worker parses. */
export type Countable = readonly string[] | Uint8Array;

export interface CountJob {
  readonly id: number;
  readonly what: Countable;
  /** Whether what there may be beyond the usual is included. */
  readonly isAtMost: boolean;
  readonly budgetMs: number;
}

export interface CountDone {
  readonly id: number;
  /** Null if it could not be counted. */
  readonly tokens: number | null;
}

self.onmessage = ({ data: job }: MessageEvent<CountJob>) => {
  const done: CountDone = { id: job.id, tokens: tokensOf(job) };
  self.postMessage(done);
};

function tokensOf({ what, isAtMost, budgetMs }: CountJob): number | null {
  try {
    if (!(what instanceof Uint8Array)) return countTexts(what, budgetMs);
    const { texts, fixedTokens, possibleTokens } = parseModelInput(what);
    return fixedTokens + (isAtMost ? possibleTokens : 0) + countTexts(texts, budgetMs);
  } catch {
    return null;
  }
}
