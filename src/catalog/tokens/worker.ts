import { countTexts } from "./bpe.ts";

declare const self: Worker;

/** Plain data, since it crosses between threads. */
export interface CountJob {
  readonly id: number;
  readonly texts: readonly string[];
  readonly budgetMs: number;
}

export interface CountDone {
  readonly id: number;
  readonly tokens: number;
}

self.onmessage = ({ data }: MessageEvent<CountJob>) => {
  const done: CountDone = { id: data.id, tokens: countTexts(data.texts, data.budgetMs) };
  self.postMessage(done);
};
