import type { JsonObject } from "../../../base/json.ts";
import { reject } from "../../contract/field-decisions.ts";
import type { CacheControl, IrContent, IrDocument, IrImage } from "../../ir/ir.ts";

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** Anthropic rejects text that is only white space, so it is skipped. */
export function writeContent(content: readonly IrContent[]): JsonObject[] {
  const blocks = content.filter((block) => block.type !== "text" || block.text.trim() !== "");
  return blocks.map((block) => withCache(writeBlock(block), block.cache));
}

export function withCache(block: JsonObject, cache: CacheControl | undefined): JsonObject {
  return cache === undefined ? block : { ...block, cache_control: cache };
}

function writeBlock(block: IrContent): JsonObject {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return writeImage(block);
    case "document":
      return writeDocument(block);
    case "search_result":
      return {
        type: "search_result",
        title: block.title,
        source: block.source,
        content: writeContent(block.content),
      };
  }
}

function writeImage(image: IrImage): JsonObject {
  const { source } = image;
  if (source.kind === "url") return { type: "image", source: { type: "url", url: source.url } };
  const mediaType = source.mediaType === "image/jpg" ? "image/jpeg" : source.mediaType;
  if (!imageTypes.has(mediaType)) {
    reject(image.path ?? "image", `has image type ${mediaType}. Send JPEG, PNG, GIF or WebP`);
  }
  return { type: "image", source: { type: "base64", media_type: mediaType, data: source.data } };
}

function writeDocument(document: IrDocument): JsonObject {
  return {
    type: "document",
    source: writeSource(document),
    ...(document.title === undefined ? {} : { title: document.title }),
    ...(document.context === undefined ? {} : { context: document.context }),
  };
}

function writeSource(document: IrDocument): JsonObject {
  const { source } = document;
  switch (source.kind) {
    case "url":
      return { type: "url", url: source.url };
    case "text":
      return { type: "text", media_type: "text/plain", data: source.text };
    case "parts":
      return { type: "content", content: writeContent(source.parts) };
    case "base64": {
      if (source.mediaType === "application/pdf") {
        return { type: "base64", media_type: source.mediaType, data: source.data };
      }
      if (!source.mediaType.startsWith("text/")) {
        reject(document.path ?? "document", `has file type ${source.mediaType}. Send PDF or text`);
      }
      const data = Buffer.from(source.data, "base64").toString();
      return { type: "text", media_type: "text/plain", data };
    }
  }
}
