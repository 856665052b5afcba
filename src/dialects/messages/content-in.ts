import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { CacheControl, IrContent, IrDocument, IrImage, IrSearchResult, IrText } from "../ir.ts";
import { listOf, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import { refuse } from "../notes.ts";

/** A string is one text; nothing at all is no block. */
export function blocksOf(content: Json | undefined): readonly JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return listOf(content).filter(isObject);
}

export function readContent(content: Json | undefined, path: string): IrContent[] {
  return blocksOf(content).flatMap((block, index) => readBlock(block, `${path}[${index}]`));
}

export function readTexts(content: Json | undefined): IrText[] {
  return blocksOf(content).flatMap((block) => (block["type"] === "text" ? readText(block) : []));
}

/** A block of a kind that is not known here is shown as the JSON that it is: it must not vanish. */
export function readBlock(block: JsonObject, path: string): IrContent[] {
  switch (block["type"]) {
    case "text":
      return readText(block);
    case "image":
      return [readImage(block, path)];
    case "document":
      return [readDocument(block, path)];
    case "search_result":
      return [readSearchResult(block)];
    case "tool_reference":
      return [{ type: "text", text: `The tool ${stringOf(block["tool_name"]) ?? ""} can now be called.` }];
    case "container_upload":
    case "compaction":
      return refuse(path, `the model's provider cannot read ${block["type"]}`);
    default:
      return [{ type: "text", text: JSON.stringify(block) }];
  }
}

function readText(block: JsonObject): IrText[] {
  const text = stringOf(block["text"]) ?? "";
  return text === "" ? [] : [{ type: "text", text, ...cacheOf(block) }];
}

function readImage(block: JsonObject, path: string): IrImage {
  const source = objectOf(block["source"]) ?? {};
  return { type: "image", source: readSource(source, path), path: `${path}.source`, ...cacheOf(block) };
}

function readSource(source: JsonObject, path: string): IrImage["source"] {
  const { type, media_type: mediaType, data, url } = source;
  if (type === "base64" && typeof mediaType === "string" && typeof data === "string") {
    return { kind: "base64", mediaType, data };
  }
  if (type === "url" && typeof url === "string") return { kind: "url", url };
  if (type === "file") return refuse(`${path}.source.file_id`, "the model's provider cannot read that file");
  return refuse(`${path}.source`, "must be base64 data or an address");
}

function readDocument(block: JsonObject, path: string): IrDocument {
  const source = objectOf(block["source"]) ?? {};
  const title = stringOf(block["title"]);
  const context = stringOf(block["context"]);
  return {
    type: "document",
    source: readDocumentSource(source, path),
    path: `${path}.source`,
    ...(title === null ? {} : { title }),
    ...(context === null ? {} : { context }),
    ...cacheOf(block),
  };
}

function readDocumentSource(source: JsonObject, path: string): IrDocument["source"] {
  if (source["type"] === "text") return { kind: "text", text: stringOf(source["data"]) ?? "" };
  if (source["type"] === "content") {
    return { kind: "parts", parts: readContent(source["content"], `${path}.source.content`) };
  }
  return readSource(source, path);
}

function readSearchResult(block: JsonObject): IrSearchResult {
  return {
    type: "search_result",
    title: stringOf(block["title"]) ?? "",
    source: stringOf(block["source"]) ?? "",
    content: objectsOf(block["content"]).flatMap(readText),
    ...cacheOf(block),
  };
}

export function cacheOf(block: JsonObject): { cache?: CacheControl } {
  const cache = objectOf(block["cache_control"]);
  return cache === null ? {} : { cache };
}
