import { asBuffer } from "../../../base/as-buffer.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { malformedAnswer } from "../../errors/failure.ts";
import { closeBracket, comma, openBracket, quote } from "../../json/json-bytes.ts";
import { objectOf } from "../../json/json-fields.ts";
import { readOutline } from "../../json/outline.ts";
import { inputUsage, isTokenCount } from "../../usage/usage-figures.ts";
import type { AskedForm, MeteredAnswer, MeteredFormat, ReadMetered } from "../route.ts";
import { dimensionsOf } from "./request.ts";
import { byIndex, floatBytes, isLength, joined, vectorsOf, wantsBase64 } from "./vectors.ts";

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
  mostInputs: ({ quirks }) =>
    quirks.includes("inputs_32") ? 32 : quirks.includes("inputs_1000") ? 1000 : Number.POSITIVE_INFINITY,
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
const space = 0x20;
const equals = 0x3d;

/** The provider's own bytes if its vectors are those that were asked for, and its usage has what clients require. */
function passOpenAi({ bytes, inputs }: MeteredAnswer, asked: AskedForm): ReadMetered | null {
  if (!hasVectors(bytes, inputs, wantsBase64(asked))) return null;
  if (inputs !== null && !hasIndexes(bytes, inputs)) return null;
  const outline = readOutline(bytes, "data");
  if (!Array.isArray(outline["data"])) throw malformedAnswer("it has no vectors");
  if (!isWholeUsage(outline["usage"])) return null;
  return { written: null, usage: inputUsage(tokensIn(outline["usage"])), extras: {} };
}

function isWholeUsage(usage: Json | undefined): boolean {
  return (
    isObject(usage) && inputUsage(usage["prompt_tokens"]) !== null && isTokenCount(usage["total_tokens"])
  );
}

function readOpenAi(answers: readonly MeteredAnswer[], asked: AskedForm): ReadMetered {
  return joined(answers, asked, ({ data, usage }) => ({
    vectors: vectorsOf(byIndex(data), (item) => item["embedding"]),
    tokens: tokensIn(usage),
  }));
}

/**
 * Whether there are as many vectors as inputs, all of this form and of one length. Nothing is parsed, which takes twenty times as long: what
 * cannot be told so is told by parsing.
 */
function hasVectors(bytes: Uint8Array, inputs: number | null, isBase64: boolean): boolean {
  const text = asBuffer(bytes);
  let [found, length] = [0, 0];
  for (let at = text.indexOf(embeddingMember); at !== -1; at = text.indexOf(embeddingMember, at)) {
    at += embeddingMember.length;
    while (text[at] === space) at += 1;
    const one = isBase64 ? base64Length(text, at) : floatsLength(text, at);
    if (!isLength(one) || (found > 0 && one !== length)) return false;
    length = one;
    found += 1;
  }
  return inputs === null ? found > 0 : found === inputs;
}

/** How many numbers the text has that begins here; 0 if there is none. */
function base64Length(bytes: Buffer, start: number): number {
  const end = bytes[start] === quote ? bytes.indexOf(quote, start + 1) : -1;
  if (end === -1) return 0;
  const padding = bytes[end - 2] === equals ? 2 : bytes[end - 1] === equals ? 1 : 0;
  return (((end - start - 1) * 3) / 4 - padding) / floatBytes;
}

/** The same for a list; 0 if there is anything but numbers in it. */
function floatsLength(bytes: Buffer, start: number): number {
  if (bytes[start] !== openBracket) return 0;
  let commas = 0;
  let hasDigit = false;
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (isDigit(byte)) hasDigit = true;
    else if (byte === comma || byte === closeBracket) {
      if (!hasDigit) return 0;
      if (byte === closeBracket) return commas + 1;
      commas += 1;
      hasDigit = false;
    } else if (!isNumberByte(byte)) return 0;
  }
  return 0;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Of a number beside its digits, or white space. */
function isNumberByte(byte: number): boolean {
  return (byte >= 0x2b && byte < 0x30) || byte <= space || byte === 0x65 || byte === 0x45;
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
function tokensIn(usage: Json | undefined): number | null {
  const { prompt_tokens: input, total_tokens: total }: JsonObject = objectOf(usage) ?? {};
  return [input, total].find(isTokenCount) ?? null;
}
