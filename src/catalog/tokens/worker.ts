import { countTexts } from "./bpe.ts";
import { parseModelInput } from "./model-input.ts";

declare const self: Worker;

/** Texts, or the body of a request, which the worker parses. */
export type Countable = readonly string[] | Uint8Array;

export interface CountJob {
  readonly id: number;
  readonly what: Countable;
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

function tokensOf({ what, budgetMs }: CountJob): number | null {
  try {
    const { texts, fixedTokens } =
      what instanceof Uint8Array ? parseModelInput(what) : { texts: what, fixedTokens: 0 };
    return fixedTokens + countTexts(texts, budgetMs);
  } catch {
    return null;
  }
}
