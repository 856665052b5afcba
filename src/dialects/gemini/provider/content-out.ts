import { tableOf } from "../../../base/collections/table.ts";
import type { JsonObject } from "../../../base/json.ts";
import { reject } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import type { IrContent, IrDocument, IrImage, IrUrl } from "../../ir/ir.ts";
import { flattenContent, type PlainContent } from "../../target/flatten-content.ts";
import { takesAddresses } from "./model.ts";

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/heic",
  "image/heif",
  "image/gif",
]);

/** The parts of a block; none for an empty text, because Google rejects empty parts. */
export function writeContent(block: IrContent, target: Target): JsonObject[] {
  if (block.type === "text") return block.text === "" ? [] : [{ text: block.text }];
  return withTitle(block)
    .filter((plain) => plain.type !== "text" || plain.text !== "")
    .map((plain) => writePart(plain, target));
}

/** Files have no names here, so a title becomes a text before them. */
function withTitle(block: IrContent): readonly PlainContent[] {
  const plain = flattenContent(block);
  const isNamedFile =
    block.type === "document" && block.source.kind === "base64" && block.title !== undefined;
  return isNamedFile ? [{ type: "text", text: `Title: ${block.title}` }, ...plain] : plain;
}

function writePart(block: PlainContent, target: Target): JsonObject {
  if (block.type === "text") return { text: block.text };
  const { source } = block;
  if (source.kind === "url") return { fileData: writeAddress(source, block, target) };
  const mimeType = source.mediaType === "image/jpg" ? "image/jpeg" : source.mediaType;
  rejectOtherTypes(mimeType, block);
  return { inlineData: { mimeType, data: source.data } };
}

function rejectOtherTypes(mimeType: string, block: IrImage | IrDocument): void {
  if (block.type === "image") {
    if (imageTypes.has(mimeType)) return;
    reject(block.path ?? "image", `has image type ${mimeType}. Send PNG, JPEG, WebP, HEIC, HEIF or GIF`);
  }
  if (mimeType === "application/pdf" || mimeType.startsWith("text/")) return;
  reject(block.path ?? "document", `has file type ${mimeType}. Send PDF or text`);
}

/** Google knows the media type of files at its own URLs. */
const ownAddress =
  /^https:\/\/(?:generativelanguage\.googleapis\.com\/\w+\/files\/|(?:www\.)?youtube\.com\/watch\?|youtu\.be\/)/;

const typesByExtension = tableOf<string>({
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  heic: "image/heic",
  heif: "image/heif",
  gif: "image/gif",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/plain",
  html: "text/html",
  css: "text/css",
  csv: "text/csv",
  xml: "text/xml",
});

function writeAddress({ url }: IrUrl, { type, path }: IrImage | IrDocument, target: Target): JsonObject {
  if (ownAddress.test(url)) return { fileUri: url };
  const place = path ?? type;
  if (!takesAddresses(target)) reject(place, "cannot be a URL for this model. Send base64 data");
  const extension = /\.(\w+)$/.exec(URL.parse(url)?.pathname ?? "")?.[1]?.toLowerCase() ?? "";
  const mimeType = typesByExtension[extension];
  if (mimeType === undefined) {
    reject(place, "must end in a known file extension. Send base64 data instead");
  }
  return { fileUri: url, mimeType };
}
