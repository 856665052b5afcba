import type { Json, JsonObject } from "../../../base/json.ts";
import { reject, unsupported } from "../../contract/field-decisions.ts";
import type { CacheControl, IrContent, IrDocument, IrImage, IrSearchResult, IrText } from "../../ir/ir.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";

/** Reads each block with `read`, skipping nulls. A string becomes one text, an empty one no block. */
export function readBlocks<Block>(
  content: Json | undefined,
  path: string,
  read: (block: JsonObject, path: string) => Block | null,
): (Block | IrText)[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const found: Block[] = [];
  objectsOf(content).forEach((block, index) => {
    const converted = read(block, `${path}[${index}]`);
    if (converted !== null) found.push(converted);
  });
  return found;
}

export function readContent(content: Json | undefined, path: string): IrContent[] {
  return readBlocks(content, path, readBlock);
}

export function readTexts(content: Json | undefined): IrText[] {
  return readBlocks(content, "", (block) => (block["type"] === "text" ? readText(block) : null));
}

/** A block of an unknown type becomes its JSON text, so that it does not get lost. */
export function readBlock(block: JsonObject, path: string): IrContent | null {
  switch (block["type"]) {
    case "text":
      return readText(block);
    case "image":
      return readImage(block, path);
    case "document":
      return readDocument(block, path);
    case "search_result":
      return readSearchResult(block);
    case "tool_reference":
      return { type: "text", text: `The tool ${stringOf(block["tool_name"]) ?? ""} can now be called.` };
    case "container_upload":
    case "compaction":
      return reject(path, `has type "${block["type"]}", which this model's provider does not support`);
    default:
      return { type: "text", text: JSON.stringify(block) };
  }
}

/** Null if it is empty. */
export function readText(block: JsonObject): IrText | null {
  const text = stringOf(block["text"]) ?? "";
  return text === "" ? null : withMark<IrText>({ type: "text", text }, block);
}

function readImage(block: JsonObject, path: string): IrImage {
  const source = objectOf(block["source"]) ?? {};
  return withMark<IrImage>(
    { type: "image", source: readSource(source, path), path: `${path}.source` },
    block,
  );
}

function readSource(source: JsonObject, path: string): IrImage["source"] {
  const { type, media_type: mediaType, data, url } = source;
  if (type === "base64" && typeof mediaType === "string" && typeof data === "string") {
    return { kind: "base64", mediaType, data };
  }
  if (type === "url" && typeof url === "string") return { kind: "url", url };
  if (type === "file")
    return reject(`${path}.source.file_id`, `${unsupported}. Send the file as base64 data`);
  return reject(`${path}.source`, "must be base64 data or a URL");
}

function readDocument(block: JsonObject, path: string): IrDocument {
  const source = objectOf(block["source"]) ?? {};
  const title = stringOf(block["title"]);
  const context = stringOf(block["context"]);
  const document: IrDocument = {
    type: "document",
    source: readDocumentSource(source, path),
    path: `${path}.source`,
    ...(title === null ? {} : { title }),
    ...(context === null ? {} : { context }),
  };
  return withMark(document, block);
}

function readDocumentSource(source: JsonObject, path: string): IrDocument["source"] {
  if (source["type"] === "text") return { kind: "text", text: stringOf(source["data"]) ?? "" };
  if (source["type"] === "content") {
    return { kind: "parts", parts: readContent(source["content"], `${path}.source.content`) };
  }
  return readSource(source, path);
}

function readSearchResult(block: JsonObject): IrSearchResult {
  const result: IrSearchResult = {
    type: "search_result",
    title: stringOf(block["title"]) ?? "",
    source: stringOf(block["source"]) ?? "",
    content: objectsOf(block["content"])
      .map(readText)
      .filter((text) => text !== null),
  };
  return withMark(result, block);
}

/** Adds the block's cache mark, if it has one. */
export function withMark<Read extends { readonly cache?: CacheControl }>(
  read: Read,
  block: JsonObject,
): Read {
  const cache = objectOf(block["cache_control"]);
  return cache === null ? read : { ...read, cache };
}
