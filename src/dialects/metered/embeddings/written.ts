import type { JsonObject } from "../../../base/json.ts";
import { parseAnswer } from "../../json/outline.ts";
import { inputUsage } from "../../usage/usage-figures.ts";
import type { AskedForm, MeteredAnswer, MeteredFormat, ReadMetered } from "../route.ts";
import { refuseOthers, type Vector, writeVectors } from "./vectors.ts";

/** What one answer of a provider says. */
export interface FoundVectors {
  readonly vectors: readonly Vector[];
  /** Tokens of input; null if the body does not say. */
  readonly tokens: number | null;
  readonly images?: number;
}

type WrittenFormat = Required<Pick<MeteredFormat, "write" | "mostInputs">> &
  Pick<MeteredFormat, "dialect" | "method">;

/** A format of its own, in which a request may become several calls. `find` reads the answer to one of them. */
export function writtenFormat(
  format: WrittenFormat,
  find: (answer: JsonObject, countedInput: number | null) => FoundVectors,
): MeteredFormat {
  return { ...format, read: (answers, asked) => joined(answers, asked, find) };
}

/** All vectors in order. The sum of the tokens counts only if every answer has reported its own. */
function joined(
  answers: readonly MeteredAnswer[],
  asked: AskedForm,
  find: (answer: JsonObject, countedInput: number | null) => FoundVectors,
): ReadMetered {
  const found = answers.map((answer) => {
    const { vectors, ...figures } = find(parseAnswer(answer), answer.countedInput);
    return { vectors: refuseOthers(vectors, answer), ...figures };
  });
  const images = found.reduce((sum, { images: some = 0 }) => sum + some, 0);
  let inputTokens = 0;
  let isReported = true;
  for (const { tokens } of found) {
    inputTokens += tokens ?? 0;
    isReported &&= tokens !== null;
  }
  return {
    written: writeVectors(
      found.flatMap(({ vectors }) => vectors),
      asked,
    ),
    usage: isReported ? inputUsage(inputTokens) : null,
    extras: images === 0 ? {} : { units: { images } },
  };
}
