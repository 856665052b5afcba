import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { reject, Untranslatable, unsupported } from "../../contract/field-decisions.ts";
import { parseDataUrl } from "../../ir/data-url.ts";
import type { CacheControl, IrBytes, IrContent, IrRefusal, IrText } from "../../ir/ir.ts";

/** The content of a user, a developer or a tool: a string or a list of parts. */
export function readContent(content: Json | undefined, path: string): IrContent[] {
  return readParts(content, path, readPart);
}

/** The content of an assistant: text and refusals. */
export function readAnswer(content: Json | undefined, path: string): (IrText | IrRefusal)[] {
  return readParts(content, path, readResponsePart);
}

/** Drops empty texts, which Anthropic rejects. */
function readParts<Block extends IrContent | IrRefusal>(
  content: Json | undefined,
  path: string,
  read: (part: Json, path: string) => Block,
): (Block | IrText)[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) reject(path, "must be a string or a list of parts");
  const blocks = content.map((part, index) => read(part, `${path}[${index}]`));
  return blocks.filter((block) => block.type !== "text" || block.text !== "");
}

function readResponsePart(part: Json, path: string): IrText | IrRefusal {
  if (isObject(part) && part["type"] === "refusal" && typeof part["refusal"] === "string") {
    return { type: "refusal", text: part["refusal"] };
  }
  const block = readPart(part, path);
  return block.type === "text" ? block : reject(path, "must be text in an assistant message");
}

function readPart(part: Json, path: string): IrContent {
  if (!isObject(part)) reject(path, "must be an object");
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
      if (typeof part["text"] !== "string") reject(`${path}.text`, "must be a string");
      return { type: "text", text: part["text"], ...cacheOf(part) };
    case "input_image":
      return readImage(part, path);
    case "input_file":
      return readFile(part, path);
    default:
      if (typeof part["type"] !== "string") reject(`${path}.type`, "must be a string");
      throw new Untranslatable(
        `${path}.type`,
        `is ${JSON.stringify(part["type"])}, which this model's provider does not support`,
      );
  }
}

function readImage(part: JsonObject, path: string): IrContent {
  const { image_url: url, detail } = part;
  if (typeof url !== "string") rejectFileId(part, path, "image_url");
  return {
    type: "image",
    source: parseDataUrl(url) ?? { kind: "url", url },
    path: `${path}.image_url`,
    ...(typeof detail === "string" ? { detail } : {}),
    ...cacheOf(part),
  };
}

function readFile(part: JsonObject, path: string): IrContent {
  const { file_data: data, file_url: url, filename } = part;
  const address = typeof data === "string" ? data : url;
  if (typeof address !== "string") rejectFileId(part, path, "file_data");
  return {
    type: "document",
    source: typeof data === "string" ? readFileData(data) : { kind: "url", url: address },
    path,
    ...(typeof filename === "string" ? { title: filename } : {}),
    ...cacheOf(part),
  };
}

/** `file_data` is a data URL; some clients send the bare base64 of a PDF. */
function readFileData(data: string): IrBytes {
  return parseDataUrl(data) ?? { kind: "base64", mediaType: "application/pdf", data };
}

/** A stored file exists at one provider only. */
function rejectFileId(part: JsonObject, path: string, instead: string): never {
  if (typeof part["file_id"] === "string") {
    throw new Untranslatable(`${path}.file_id`, `${unsupported}. Send \`${instead}\``);
  }
  reject(`${path}.${instead}`, "must be a string");
}

function cacheOf(part: JsonObject): { cache?: CacheControl } {
  return isObject(part["prompt_cache_breakpoint"]) ? { cache: { type: "ephemeral" } } : {};
}
