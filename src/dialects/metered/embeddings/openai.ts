import { asBuffer } from "../../../base/bytes.ts";
import { isObject, type Json, type JsonObject, tryParse } from "../../../base/json.ts";
import { closeBracket, comma, openBracket, quote } from "../../json/json-bytes.ts";
import { listOf, objectOf } from "../../json/json-fields.ts";
import { inputUsage, isTokenCount } from "../../usage/reported-usage.ts";
import {
  type MeteredFormat,
  type MeteredReading,
  type MeteredResponse,
  meteredDialect,
  type RequestedForm,
} from "../route.ts";
import { dimensionsOf } from "./request.ts";
import { byIndex, floatBytes, isLength, mergeVectors, vectorsOf, wantsBase64 } from "./vectors.ts";

/** OpenAI and Azure, which give vectors in either form. https://platform.openai.com/docs/api-reference/embeddings */
export const openAiEmbeddings: MeteredFormat = {
  dialect: meteredDialect,
  method: () => "embeddings",
  takesTokenIds: true,
  pass: passOpenAi,
  read: readOpenAi,
};

/** Other servers of that shape. Many do not support base64, so floats are requested. */
export const compatibleEmbeddings: MeteredFormat = {
  dialect: meteredDialect,
  method: () => "embeddings",
  maxInputs: ({ quirks }) =>
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
const space = 0x20;
const equals = 0x3d;

/**
 * Passes the provider's bytes through, if its vectors have the requested form and its usage has the fields that clients
 * require.
 */
function passOpenAi({ bytes, inputs }: MeteredResponse, requested: RequestedForm): MeteredReading | null {
  const outline = readLengths(asBuffer(bytes), wantsBase64(requested));
  if (outline === null || !isWholeUsage(outline["usage"])) return null;
  if (inputs !== null && !hasIndexes(listOf(outline["data"]), inputs)) return null;
  return { written: null, usage: inputUsage(tokensIn(outline["usage"])), extras: {} };
}

function isWholeUsage(usage: Json | undefined): boolean {
  return (
    isObject(usage) && inputUsage(usage["prompt_tokens"]) !== null && isTokenCount(usage["total_tokens"])
  );
}

function readOpenAi(answers: readonly MeteredResponse[], requested: RequestedForm): MeteredReading {
  return mergeVectors(answers, requested, ({ data, usage }) => ({
    vectors: vectorsOf(byIndex(data), (item) => item["embedding"]),
    tokens: tokensIn(usage),
  }));
}

/**
 * The response with each vector replaced by its length. Null unless all vectors have this form and the same length; the caller
 * then parses them, which takes twenty times as long.
 */
function readLengths(text: Buffer, isBase64: boolean): JsonObject | null {
  let outline = "";
  let [read, found, length] = [0, 0, 0];
  for (let at = text.indexOf(embeddingMember); at !== -1; at = text.indexOf(embeddingMember, read)) {
    let start = at + embeddingMember.length;
    while (text[start] === space) start += 1;
    const end = text.indexOf(isBase64 ? quote : closeBracket, start + 1);
    const one = isBase64 ? base64Length(text, start, end) : floatsLength(text, start, end);
    if (!isLength(one) || (found > 0 && one !== length)) return null;
    outline += text.toString("latin1", read, start) + one;
    [read, length] = [end + 1, one];
    found += 1;
  }
  outline += text.toString("latin1", read);
  if (found === 0) return null;
  const answer = objectOf(tryParse(outline));
  const items = listOf(answer?.["data"]);
  const areVectors =
    items.length === found && items.every((item) => objectOf(item)?.["embedding"] === length);
  return areVectors ? answer : null;
}

/** Length of the vector that a base64 string encodes; 0 if there is no string here. */
function base64Length(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] !== quote || end === -1) return 0;
  const padding = bytes[end - 2] === equals ? 2 : bytes[end - 1] === equals ? 1 : 0;
  return (((end - start - 1) * 3) / 4 - padding) / floatBytes;
}

/** The length of a vector written as a list; 0 if it contains anything but numbers. */
function floatsLength(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] !== openBracket) return 0;
  let numbers = 0;
  let hasDigit = false;
  for (let at = start + 1; at <= end; at += 1) {
    const byte = bytes[at] as number;
    if (isDigit(byte)) hasDigit = true;
    else if (byte === comma || byte === closeBracket) {
      if (!hasDigit) return 0;
      numbers += 1;
      hasDigit = false;
    } else if (!isNumberByte(byte)) return 0;
  }
  return numbers;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** A sign, point or exponent of a number, or white space. */
function isNumberByte(byte: number): boolean {
  return (byte >= 0x2b && byte < 0x30) || byte <= space || byte === 0x65 || byte === 0x45;
}

/** Whether there are `count` items, each with its own index. */
function hasIndexes(items: readonly Json[], count: number): boolean {
  const indexes = new Set(items.map((item) => objectOf(item)?.["index"]));
  for (let index = 0; index < count; index += 1) if (!indexes.has(index)) return false;
  return items.length === count;
}

/** Voyage reports only a total. */
function tokensIn(usage: Json | undefined): number | null {
  const { prompt_tokens: input, total_tokens: total }: JsonObject = objectOf(usage) ?? {};
  return [input, total].find(isTokenCount) ?? null;
}
