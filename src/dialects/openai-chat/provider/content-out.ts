import type { Json, JsonObject } from "../../../base/json.ts";
import { dataUrl } from "../../ir/data-url.ts";
import type { IrContent, IrDocument, IrImage, IrText } from "../../ir/ir.ts";
import { cacheBreakpoint } from "../../openai/cache-marks.ts";
import type { Target } from "../../provider-dialect.ts";
import { refuse } from "../../translation/field-decisions.ts";
import { flattenContent } from "../../translation/flatten-content.ts";
import { takesCacheBreakpoints, takesCacheControl } from "../../translation/model-traits.ts";

/** Writes a single text as a string, and anything else as parts, so that their boundaries are kept. */
export class ChatContentWriter {
  readonly #keepsCache: boolean;
  readonly #takesBreakpoints: boolean;

  constructor(target: Target) {
    this.#keepsCache = takesCacheControl(target);
    this.#takesBreakpoints = takesCacheBreakpoints(target);
  }

  write(blocks: readonly IrContent[]): Json {
    const [first] = blocks;
    if (blocks.length === 1 && first !== undefined && this.#isPlain(first)) return first.text;
    const flattened = blocks.flatMap(flattenContent);
    const [only] = flattened;
    if (flattened.length === 1 && only !== undefined && this.#isPlain(only)) return only.text;
    return flattened.map((block) => this.#part(block));
  }

  #isPlain(block: IrContent): block is IrText {
    return block.type === "text" && !this.#isMarked(block);
  }

  #isMarked(block: IrContent): boolean {
    return (this.#keepsCache || this.#takesBreakpoints) && block.cache !== undefined;
  }

  #part(block: IrContent): JsonObject {
    const part = writePart(block);
    if (!this.#isMarked(block)) return part;
    return this.#keepsCache ? { ...part, cache_control: block.cache } : { ...part, ...cacheBreakpoint };
  }
}

function writePart(block: IrContent): JsonObject {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "image") return writeImage(block);
  if (block.type === "document") return writeFile(block);
  return refuse(block.type, "cannot be written as chat content");
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
    return refuse(document.path ?? "document", "the model's provider takes documents as base64 only");
  }
  return {
    type: "file",
    file: { filename: document.title ?? "document.pdf", file_data: dataUrl(source) },
  };
}
