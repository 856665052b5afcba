import { countTexts } from "./bpe.ts";
import { parseModelInput } from "./model-input.ts";

declare const self: Worker;

/** Texts, or the body of a request, which the worker parses. */
export type CountInput = readonly string[] | Uint8Array;

export interface CountJob {
  readonly id: number;
  readonly what: CountInput;
  /** Whether to count an upper bound instead of the usual number. */
  readonly isAtMost: boolean;
  /** Whether Claude reads it: Anthropic adds a system text before the tools. */
  readonly isForClaude: boolean;
  readonly budgetMs: number;
}

/** Turns ids of tokens into text. */
export interface DecodeJob {
  readonly id: number;
  readonly ids: readonly (readonly number[])[];
}

export interface JobDone {
  readonly id: number;
  /** Null if it could not be counted. */
  readonly tokens: number | null;
  /** Null if one of the ids is unknown. */
  readonly texts: readonly string[] | null;
}

self.onmessage = async ({ data: job }: MessageEvent<CountJob | DecodeJob>) => {
  const done: JobDone =
    "ids" in job
      ? { id: job.id, tokens: null, texts: await textsOf(job) }
      : { id: job.id, tokens: tokensOf(job), texts: null };
  self.postMessage(done);
};

/**
 * Decodes token ids in cl100k_base, the encoding that OpenAI's clients use for models with an unknown name. It is
 * loaded here, because few gateways need it. Null if one of the ids is not in it.
 */
async function textsOf({ ids }: DecodeJob): Promise<readonly string[] | null> {
  const { decode } = await import("gpt-tokenizer/encoding/cl100k_base");
  try {
    return ids.map((tokens) => decode(tokens));
  } catch {
    return null;
  }
}

function tokensOf({ what, isAtMost, isForClaude, budgetMs }: CountJob): number | null {
  try {
    if (!(what instanceof Uint8Array)) return countTexts(what, budgetMs, isAtMost);
    const { texts, fixedTokens, claudeTokens, possibleTokens } = parseModelInput(what);
    const more = (isAtMost ? possibleTokens : 0) + (isAtMost || isForClaude ? claudeTokens : 0);
    return fixedTokens + more + countTexts(texts, budgetMs, isAtMost);
  } catch {
    return null;
  }
}
