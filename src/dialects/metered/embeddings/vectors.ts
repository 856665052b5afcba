import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { totalInput, type Usage } from "../../../base/usage/usage.ts";
import { malformedResponse } from "../../errors/failure.ts";
import { objectOf } from "../../json/json-fields.ts";
import { parseResponse } from "../../provider-response/outline.ts";
import { inputUsage } from "../../usage/reported-usage.ts";
import type { MeteredFormat, MeteredReading, MeteredResponse, RequestedForm } from "../route.ts";

/** A vector as providers send it: floats, or base64 of little-endian numbers of 32 bits. */
export type Vector = readonly number[] | string;

export function wantsBase64({ body }: RequestedForm): boolean {
  return body["encoding_format"] === "base64";
}

/** A response of OpenAI's form up to its usage, with every vector in the requested form. */
function writeVectors(vectors: readonly Vector[], requested: RequestedForm): string {
  const form = wantsBase64(requested) ? base64Of : floatsOf;
  const data = vectors.map(
    (vector, index) => `{"object":"embedding","index":${index},"embedding":${JSON.stringify(form(vector))}}`,
  );
  return `{"object":"list","data":[${data.join(",")}],"model":${JSON.stringify(requested.model)}`;
}

export function writeEnd(usage: Usage): string {
  const tokens = totalInput(usage);
  return `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`;
}

function base64Of(vector: Vector): string {
  if (typeof vector === "string") return vector;
  const bytes = new DataView(new ArrayBuffer(vector.length * floatBytes));
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * floatBytes, value, true);
  return Buffer.from(bytes.buffer).toString("base64");
}

export function floatsOf(vector: Vector): readonly number[] {
  if (typeof vector !== "string") return vector;
  const { buffer, byteOffset, byteLength } = Buffer.from(vector, "base64");
  const bytes = new DataView(buffer, byteOffset, byteLength);
  return Array.from({ length: Math.floor(byteLength / floatBytes) }, (_, index) =>
    bytes.getFloat32(index * floatBytes, true),
  );
}

/** The vectors of a list, each found in its item by `vectorIn`. */
export function vectorsOf(
  items: Json | undefined,
  vectorIn: (item: JsonObject) => Json | undefined,
): readonly Vector[] {
  if (!Array.isArray(items)) throw malformedResponse("it has no vectors");
  return items.map((item) => vectorOf(isObject(item) ? vectorIn(item) : item));
}

export function vectorOf(value: Json | undefined): Vector {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || !value.every(isNumber)) throw malformedResponse("a vector is missing");
  return value;
}

function isNumber(value: Json): value is number {
  return typeof value === "number";
}

/**
 * Throws unless there is one vector for each input, all of one length: a client takes them by their places, and would compare the
 * wrong ones, or ones that cannot be compared.
 */
function rejectOthers(vectors: readonly Vector[], inputs: number | null): readonly Vector[] {
  if (inputs !== null && vectors.length !== inputs) {
    throw malformedResponse(`it has ${vectors.length} vectors for ${inputs} inputs`);
  }
  const lengths = new Set(vectors.map(lengthOf));
  if (lengths.size > 1 || ![...lengths].every(isLength)) {
    throw malformedResponse("its vectors differ in length");
  }
  return vectors;
}

/** In numbers. */
function lengthOf(vector: Vector): number {
  return typeof vector === "string" ? base64Bytes(vector) / floatBytes : vector.length;
}

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;

function base64Bytes(text: string): number {
  return base64Form.test(text) ? Buffer.byteLength(text, "base64") : 0;
}

/** Whether a vector can be this long. */
export function isLength(length: number): boolean {
  return Number.isInteger(length) && length > 0;
}

export const floatBytes = 4;

/** The items of a list in the order of their indexes, which some servers leave out. */
export function byIndex(items: Json | undefined): Json | undefined {
  if (!Array.isArray(items) || items.every((item) => objectOf(item)?.["index"] == null)) return items;
  const ordered = new Array<Json>(items.length);
  for (const item of items) {
    const index = objectOf(item)?.["index"];
    if (typeof index !== "number" || !(index in items) || index in ordered)
      throw malformedResponse("its vectors have wrong indexes");
    ordered[index] = item;
  }
  return ordered;
}

/** The contents of one provider response. */
export interface FoundVectors {
  readonly vectors: readonly Vector[];
  /** Input tokens; null if the body does not report them. */
  readonly tokens: number | null;
  readonly images?: number;
}

/** Reads the response to one call. */
type FindVectors = (answer: JsonObject, countedInput: number | null) => FoundVectors;

type WrittenFormat = Required<Pick<MeteredFormat, "write" | "maxInputs">> &
  Pick<MeteredFormat, "dialect" | "method" | "addOptions">;

/** A vendor's own format, in which a request can become several calls. */
export function writtenFormat(format: WrittenFormat, find: FindVectors): MeteredFormat {
  return { ...format, read: (answers, requested) => mergeVectors(answers, requested, find) };
}

/** All vectors in order. Tokens are added up only if every response reports them. */
export function mergeVectors(
  answers: readonly MeteredResponse[],
  requested: RequestedForm,
  find: FindVectors,
): MeteredReading {
  const found = answers.map((answer) => {
    const { vectors, ...usage } = find(parseResponse(answer), answer.countedInput);
    return { vectors: rejectOthers(vectors, answer.inputs), ...usage };
  });
  const vectors = rejectOthers(
    found.flatMap((each) => each.vectors),
    null,
  );
  const images = found.reduce((sum, { images: some = 0 }) => sum + some, 0);
  let inputTokens = 0;
  let isReported = true;
  for (const { tokens } of found) {
    inputTokens += tokens ?? 0;
    isReported &&= (tokens ?? 0) > 0;
  }
  return {
    written: requested.writeVectors?.(vectors) ?? writeVectors(vectors, requested),
    usage: isReported ? inputUsage(inputTokens) : null,
    extras: images === 0 ? {} : { units: { images } },
  };
}
