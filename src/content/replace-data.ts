import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { DataDigest } from "./document.ts";

/** Shorter data is not replaced. */
const minDataBytes = 256;
export const minBase64Chars = Math.ceil((minDataBytes * 4) / 3);
const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,/;
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Members that hold data in any of the formats. */
const dataNames = new Set([
  "data",
  "b64_json",
  "file_data",
  "partial_image_b64",
  "image",
  "audio",
  "result",
  "bytes",
]);

/** No valid request nests deeper. */
const maxDepth = 128;

/** A copy in which binary data is replaced by its digest, and every text by the result of `clean`. */
export function replaceData(value: Json, clean: (text: string) => string): Json {
  return replaced(value, "", null, 0);

  function replaced(each: Json, name: string, parent: JsonObject | null, depth: number): Json {
    if (typeof each === "string") return digestOfText(each, name, parent) ?? clean(each);
    if (typeof each !== "object" || each === null) return each;
    if (depth >= maxDepth) return null;
    if (Array.isArray(each)) {
      const vector = isVectorName(name) ? vectorDigest(each) : null;
      return vector ?? each.map((item) => replaced(item, name, parent, depth + 1));
    }
    const copy: JsonObject = Object.create(null);
    for (const [member, item] of Object.entries(each)) {
      // Google's vectors are objects with values.
      const named = member === "values" && isVectorName(name) ? name : member;
      copy[clean(member)] = item === undefined ? null : replaced(item, named, each, depth + 1);
    }
    return copy;
  }
}

export function digestOf(bytes: Uint8Array, type: string): DataDigest & JsonObject {
  return { type, bytes: bytes.length, sha256: Bun.SHA256.hash(bytes, "hex") };
}

function digestOfText(text: string, name: string, parent: JsonObject | null): JsonObject | null {
  if (isVectorName(name)) return text === "" ? null : digestOf(Buffer.from(text, "base64"), vectorType);
  if (text.length < minBase64Chars) return null;
  const [head, type] = dataUrl.exec(text.slice(0, 200)) ?? [];
  if (head !== undefined)
    return digestOf(Buffer.from(text.slice(head.length), "base64"), type ?? unknownType);
  if (!dataNames.has(name) || parent?.["type"] === "text" || !base64.test(text)) return null;
  if (name === "result" && parent?.["type"] !== "image_generation_call") return null;
  const bytes = Buffer.from(text, "base64");
  return bytes.length < minDataBytes ? null : digestOf(bytes, typeBeside(parent));
}

const unknownType = "application/octet-stream";
const vectorType = "vector/float32";

/** The media type named next to the data. */
function typeBeside(parent: JsonObject | null): string {
  if (!isObject(parent)) return unknownType;
  for (const name of ["media_type", "mime_type", "mimeType"]) {
    const type = parent[name];
    if (typeof type === "string" && type.length <= 100) return type;
  }
  const { format, output_format: output, type, b64_json: image } = parent;
  if (typeof format === "string" && format.length <= 20) return `audio/${format}`;
  if (typeof output === "string" && output.length <= 20) return `image/${output}`;
  return image !== undefined || type === "image_generation_call" ? "image/png" : unknownType;
}

function isVectorName(name: string): boolean {
  return name === "embedding" || name === "embeddings";
}

/** Null if it is not a list of numbers. */
function vectorDigest(list: readonly Json[]): JsonObject | null {
  if (list.length === 0 || typeof list[0] !== "number") return null;
  return digestOf(new Uint8Array(Float32Array.from(list as number[]).buffer), vectorType);
}
