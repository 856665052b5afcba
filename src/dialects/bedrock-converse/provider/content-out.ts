import { tableOf } from "../../../base/collections/table.ts";
import type { JsonObject } from "../../../base/json.ts";
import { reject } from "../../contract/field-decisions.ts";
import type { IrContent, IrImage } from "../../ir/ir.ts";
import { flattenContent, type IrFile } from "../../target/flatten-content.ts";
import { cachePoint } from "./cache-points.ts";

const imageFormats = tableOf<string>({
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
});

const documentFormats = tableOf<string>({
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
});

/** Bedrock rejects a message with a document and no text. */
const aboutDocument = "The attached document.";

/** Writes the content of one request: no two documents in it may have the same name. */
export class ConverseContentWriter {
  readonly #documentNames = new Set<string>();
  readonly #takesCachePoints: boolean;

  constructor(takesCachePoints: boolean) {
    this.#takesCachePoints = takesCachePoints;
  }

  write(content: readonly IrContent[]): JsonObject[] {
    const written: JsonObject[] = [];
    for (const block of content) this.add(written, block);
    return written;
  }

  /** Claude rejects text that is only white space, so it is skipped. */
  add(written: JsonObject[], block: IrContent): void {
    for (const plain of flattenContent(block)) {
      if (plain.type === "text" && plain.text.trim() === "") continue;
      if (plain.type === "text") written.push({ text: plain.text });
      else written.push(plain.type === "image" ? writeImage(plain) : this.#writeDocument(plain));
      this.mark(written, plain.cache);
    }
  }

  /** A cache mark is a separate block after the one it belongs to. */
  mark(written: JsonObject[], cache: IrContent["cache"]): void {
    if (cache !== undefined && this.#takesCachePoints) written.push(cachePoint(cache));
  }

  #writeDocument(file: IrFile): JsonObject {
    const { source } = file;
    if (source.kind === "url")
      reject(file.path ?? "document", "cannot be a URL for this model's provider. Send base64 data");
    const isText = source.mediaType.startsWith("text/");
    const format = documentFormats[source.mediaType] ?? (isText ? "txt" : null);
    if (format === null)
      reject(
        file.path ?? "document",
        `has file type ${source.mediaType}, which this model's provider does not support`,
      );
    return { document: { format, name: this.#nameOf(file), source: { bytes: source.data } } };
  }

  /** Letters, digits, single spaces, hyphens and brackets are allowed; a dot is not. */
  #nameOf({ title }: IrFile): string {
    const legal = (title ?? "")
      .replace(/[^\p{L}\p{N}()[\]-]+/gu, " ")
      .trim()
      .slice(0, 180);
    const base = legal === "" ? "document" : legal;
    let name = base;
    for (let number = 2; this.#documentNames.has(name); number += 1) name = `${base} ${number}`;
    this.#documentNames.add(name);
    return name;
  }
}

/** Adds the text that a message with a document needs. */
export function withText(content: JsonObject[]): JsonObject[] {
  const needsText =
    content.some((block) => block["document"] !== undefined) &&
    !content.some((block) => block["text"] !== undefined);
  return needsText ? [{ text: aboutDocument }, ...content] : content;
}

function writeImage({ source, path }: IrImage): JsonObject {
  if (source.kind === "url")
    reject(path ?? "image", "cannot be a URL for this model's provider. Send base64 data");
  const format = imageFormats[source.mediaType];
  if (format === undefined)
    reject(path ?? "image", `has image type ${source.mediaType}. Send JPEG, PNG, GIF or WebP`);
  return { image: { format, source: { bytes: source.data } } };
}
