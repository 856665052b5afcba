import type { Json, JsonObject } from "../../../base/json.ts";
import { reject } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { dataUrl } from "../../ir/data-url.ts";
import type { IrContent, IrDocument, IrImage } from "../../ir/ir.ts";
import { cacheBreakpoint } from "../../openai/request-fields.ts";
import { flattenContent } from "../../target/flatten-content.ts";
import { takesCacheBreakpoints, takesCacheControl } from "../../target/model-traits.ts";

/**
 * Writes a single text as a string, and anything else as parts, so that their boundaries are kept. A compatible server gets several
 * texts as one too: Ollama makes a message of each part.
 */
export function writeContent(blocks: readonly IrContent[], target: Target): Json {
  const [first] = blocks;
  const flattened = blocks.length === 1 && first?.type === "text" ? blocks : blocks.flatMap(flattenContent);
  const [only] = flattened;
  if (flattened.length === 1 && only?.type === "text" && markOf(only, target) === null) return only.text;
  const texts = target.isStrict ? [] : flattened.filter((block) => block.type === "text");
  if (
    texts.length > 0 &&
    texts.length === flattened.length &&
    texts.every((text) => markOf(text, target) === null)
  )
    return texts.map(({ text }) => text).join("\n\n");
  return flattened.map((block) => ({ ...writePart(block), ...markOf(block, target) }));
}

function markOf({ cache }: IrContent, target: Target): JsonObject | null {
  if (cache === undefined) return null;
  if (takesCacheControl(target)) return { cache_control: cache };
  return takesCacheBreakpoints(target) ? cacheBreakpoint : null;
}

function writePart(block: IrContent): JsonObject {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "image") return writeImage(block);
  if (block.type === "document") return writeFile(block);
  return reject(block.type, "is not supported by this model's provider");
}

function writeImage(image: IrImage): JsonObject {
  const url = image.source.kind === "url" ? image.source.url : dataUrl(image.source);
  return {
    type: "image_url",
    image_url: image.detail === undefined ? { url } : { url, detail: image.detail },
  };
}

function writeFile(document: IrDocument): JsonObject {
  const { source } = document;
  if (source.kind !== "base64") {
    return reject(document.path ?? "document", "must be base64 data for this model's provider");
  }
  return {
    type: "file",
    file: { filename: document.title ?? "document.pdf", file_data: dataUrl(source) },
  };
}
