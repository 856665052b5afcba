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
  readonly tokens: number;
}

self.onmessage = ({ data: { id, what, budgetMs } }: MessageEvent<CountJob>) => {
  const { texts, fixedTokens } =
    what instanceof Uint8Array ? parseModelInput(what) : { texts: what, fixedTokens: 0 };
  const done: CountDone = { id, tokens: fixedTokens + countTexts(texts, budgetMs) };
  self.postMessage(done);
};
