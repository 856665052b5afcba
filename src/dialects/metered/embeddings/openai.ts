import { asBuffer } from "../../../base/as-buffer.ts";
import { assert } from "../../../base/assert.ts";
import { isObject, type Json } from "../../../base/json.ts";
import type { ReportedUsage } from "../../../base/usage.ts";
import { malformedAnswer } from "../../errors/failure.ts";
import { parseAnswer, readOutline } from "../../json/outline.ts";
import { inputUsage, isTokenCount } from "../../usage/usage-figures.ts";
import type { AskedForm, MeteredAnswer, MeteredFormat, ReadMetered } from "../route.ts";
import { dimensionsOf } from "./request.ts";
import { byIndex, refuseOthers, vectorsOf, wantsBase64, writeVectors } from "./vectors.ts";

/** OpenAI and Azure, which give vectors in either form. https://platform.openai.com/docs/api-reference/embeddings */
export const openAiEmbeddings: MeteredFormat = {
  dialect: "chat",
  method: () => "embeddings",
  takesTokenIds: true,
  pass: passOpenAi,
  read: readOpenAi,
};

/** Other servers of that shape. Many know no base64, so they are asked for floats. */
export const compatibleEmbeddings: MeteredFormat = {
  dialect: "chat",
  method: () => "embeddings",
  changes: (body, { quirks }) => ({
    encoding_format: quirks.includes("no_float") ? undefined : "float",
    ...(quirks.includes("output_dimension") && dimensionsOf(body) !== null
      ? { dimensions: undefined, output_dimension: dimensionsOf(body) }
      : {}),
  }),
  pass: passOpenAi,
  read: readOpenAi,
};

const embeddingMember = Buffer.from('"embedding":');
const indexMember = Buffer.from('"index":');
/** Of an index, with a space before it. */
const mostDigits = 10;
const quote = 34;
const space = 32;

/** The provider's own bytes if its vectors are those that were asked for, and its usage has what clients require. */
function passOpenAi({ bytes, inputs }: MeteredAnswer, asked: AskedForm): ReadMetered | null {
  if (hasBase64(bytes) !== wantsBase64(asked)) return null;
  if (inputs !== null && !hasIndexes(bytes, inputs)) return null;
  const outline = readOutline(bytes, "data");
  if (!Array.isArray(outline["data"])) throw malformedAnswer("it has no vectors");
  if (!isWholeUsage(outline["usage"])) return null;
  return { written: null, usage: usageOf(outline["usage"]), extras: {} };
}

function isWholeUsage(usage: Json | undefined): boolean {
  return isObject(usage) && isTokenCount(usage["prompt_tokens"]) && isTokenCount(usage["total_tokens"]);
}

/** One answer: what passes through is never split. */
function readOpenAi([answer]: readonly MeteredAnswer[], asked: AskedForm): ReadMetered {
  assert(answer !== undefined, "there is one answer");
  const { data, usage } = parseAnswer(answer);
  const vectors = refuseOthers(
    vectorsOf(byIndex(data), (item) => item["embedding"]),
    answer,
  );
  return { written: writeVectors(vectors, asked), usage: usageOf(usage), extras: {} };
}

/** Whether the first vector is text. */
function hasBase64(bytes: Uint8Array): boolean {
  const found = asBuffer(bytes).indexOf(embeddingMember);
  if (found === -1) return false;
  let at = found + embeddingMember.length;
  while (bytes[at] === space) at += 1;
  return bytes[at] === quote;
}

/** Whether each index below `count` stands there once, and no other. What cannot be told by a native search is told by parsing. */
function hasIndexes(bytes: Uint8Array, count: number): boolean {
  const text = asBuffer(bytes);
  const isThere = new Uint8Array(count);
  let found = 0;
  for (let at = text.indexOf(indexMember); at !== -1; at = text.indexOf(indexMember, at)) {
    at += indexMember.length;
    const index = Number.parseInt(text.toString("latin1", at, at + mostDigits), 10);
    if (isThere[index] !== 0) return false;
    isThere[index] = 1;
    found += 1;
  }
  return found === count;
}

/** Voyage reports only a total. */
function usageOf(usage: Json | undefined): ReportedUsage | null {
  if (!isObject(usage)) return null;
  const tokens = isTokenCount(usage["prompt_tokens"]) ? usage["prompt_tokens"] : usage["total_tokens"];
  return inputUsage(tokens);
}
