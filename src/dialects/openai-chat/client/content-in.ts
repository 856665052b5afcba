import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { reject, unsupported } from "../../contract/field-decisions.ts";
import { parseDataUrl } from "../../ir/data-url.ts";
import type { CacheControl, IrContent, IrDocument, IrImage, IrText } from "../../ir/ir.ts";
import { listOf, objectOf, stringOf } from "../../json/json-fields.ts";

/** A message's content: a string or a list of parts. Empty content results in no block. */
export function readContent(content: Json | undefined, path: string): IrContent[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const blocks: IrContent[] = [];
  listOf(content).forEach((part, index) => {
    const at = `${path}[${index}]`;
    const block = isObject(part) ? readPart(part, at) : reject(at, "must be an object");
    if (block !== null) blocks.push(block);
  });
  return blocks;
}

/** For roles whose content must be text: instructions and the assistant. */
export function readTexts(content: Json | undefined, path: string): IrText[] {
  const blocks = readContent(content, path);
  return blocks.every((block) => block.type === "text") ? blocks : reject(path, "must contain only text");
}

function readPart(part: JsonObject, path: string): IrContent | null {
  switch (part["type"]) {
    case "text":
      return readText(part);
    case "image_url":
      return readImage(part, path);
    case "file":
      return readFile(part, path);
    case "input_audio":
      return reject(path, "has audio, which this model's provider does not support");
    default:
      return reject(`${path}.type`, `has the unknown value ${JSON.stringify(part["type"] ?? null)}`);
  }
}

/** Null if it is empty. */
function readText(part: JsonObject): IrText | null {
  const text = stringOf(part["text"]) ?? "";
  return text === "" ? null : { type: "text", text, ...cacheOf(part) };
}

function readImage(part: JsonObject, path: string): IrImage {
  const image = objectOf(part["image_url"]);
  // Some clients send the URL itself instead of an object.
  const url = stringOf(image?.["url"]) ?? stringOf(part["image_url"]) ?? "";
  const detail = stringOf(image?.["detail"]);
  return {
    type: "image",
    source: parseDataUrl(url) ?? readAddress(url, `${path}.image_url.url`),
    path: `${path}.image_url`,
    ...(detail === null ? {} : { detail }),
    ...cacheOf(part),
  };
}

function readAddress(url: string, path: string): { kind: "url"; url: string } {
  if (!/^https?:\/\//i.test(url)) reject(path, "must be an http(s) URL or a base64 data URL");
  return { kind: "url", url };
}

function readFile(part: JsonObject, path: string): IrDocument {
  const file = objectOf(part["file"]) ?? {};
  const data = stringOf(file["file_data"]);
  if (data === null) return reject(`${path}.file.file_id`, `${unsupported}. Send \`file_data\``);
  const source = parseDataUrl(data);
  if (source === null) return reject(`${path}.file.file_data`, "must be a base64 data URL");
  const title = stringOf(file["filename"]);
  return {
    type: "document",
    source,
    path: `${path}.file`,
    ...(title === null ? {} : { title }),
    ...cacheOf(part),
  };
}

/** OpenAI's own mark, or Anthropic's, which clients such as opencode use in chat too, on parts and on whole messages. */
export function cacheOf(part: JsonObject): { cache?: CacheControl } {
  const cache = objectOf(part["cache_control"]);
  if (cache !== null) return { cache };
  return objectOf(part["prompt_cache_breakpoint"]) === null ? {} : { cache: { type: "ephemeral" } };
}
