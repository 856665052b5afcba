import { tableOf } from "../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";

/**
 * The kind of an attachment, and whether its tokens are bounded before a provider has read it. If not, it may fill the
 * model's window: a hundred pages of PDF fit in a kilobyte, and so does a page with a book in it, so neither its size
 * nor its own header is trusted.
 */
export type Attachment = "image" | "document" | "audio" | "media";

const attachments = tableOf<Attachment>({
  image: "image",
  image_url: "image",
  input_image: "image",
  computer_screenshot: "image",
  document: "document",
  document_url: "document",
  file: "document",
  input_file: "document",
  input_audio: "audio",
  audio_url: "media",
  video: "media",
  video_url: "media",
  input_video: "media",
});

/** Null for what is read as text. */
export function attachmentOf(type: Json | undefined): Attachment | null {
  return typeof type === "string" ? (attachments[type] ?? null) : null;
}

/** Whether an attachment costs no more than its kind and size indicate. */
export const isMeasured: Readonly<Record<Attachment, (block: JsonObject) => boolean>> = {
  image: isImage,
  document: isTextDocument,
  audio: (block) => secondsOfAudio(block) !== null,
  media: () => false,
};

const imageAddress = /^https?:\/\/(?!(?:www\.)?youtu\.?be|generativelanguage\.googleapis\.com)/i;
const imageExtension = /\.(?:png|jpe?g|webp|heic|heif|gif|bmp|tiff?|avif|svg)$/i;
const anyExtension = /\/[^/]*\.\w{1,5}$/;

/** Vendors scale images down to a size. Some take other things under this name: videos and documents. */
function isImage(block: JsonObject): boolean {
  const source = addressOf(block);
  if (source === null) return true;
  if (source.startsWith("data:")) return /^data:image\//i.test(source);
  if (!imageAddress.test(source)) return false;
  const pathname = URL.parse(source)?.pathname;
  return pathname !== undefined && (imageExtension.test(pathname) || !anyExtension.test(pathname));
}

/** A URL, or a data URL. Null for an image sent as separate bytes, or by id. */
function addressOf({ image_url: image, source }: JsonObject): string | null {
  const url = isObject(image) ? image["url"] : (image ?? (isObject(source) ? source["url"] : null));
  return typeof url === "string" ? url : null;
}

const textUrl = /^data:(?:text\/|application\/(?:json|xml|yaml))[^,]*;base64,/i;
const sniffedChars = 1400;

/** Whether a document is text, by all of its declared types and its first kilobyte. Then it has no more tokens than bytes. */
function isTextDocument(block: JsonObject): boolean {
  const { source, file } = block;
  const holder = isObject(source) ? source : isObject(file) ? file : block;
  if (holder["type"] === "text" || holder["type"] === "content") return true;
  const data = holder["file_data"] ?? holder["data"];
  if (typeof data !== "string" || holder["file_id"] !== undefined || holder["file_url"] !== undefined)
    return false;
  const head = textUrl.exec(data)?.[0];
  if (head === undefined) return false;
  const start = Buffer.from(data.slice(head.length, head.length + sniffedChars), "base64").toString("latin1");
  return isPlainText(start);
}

/** By the beginning of what is declared as text. */
export function isPlainText(start: string): boolean {
  return !start.includes("%PDF-") && !hasControlCharacter(start);
}

/** Tab, line feed, form feed and carriage return are text. */
function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 9 || (code > 13 && code < 32)) return true;
  }
  return false;
}

const base64CharsPerByte = 4 / 3;
/** The lowest rate of MP3. */
const minBytesPerSecond = 1000;
const wavHeadBytes = 44;

/** The longest that the audio can play; null if unknown, because other formats compress silence to nothing. */
export function secondsOfAudio({ input_audio: audio }: JsonObject): number | null {
  const data = isObject(audio) ? audio["data"] : undefined;
  if (typeof data !== "string") return null;
  const bytes = data.length / base64CharsPerByte;
  const head = Buffer.from(data.slice(0, 64), "base64");
  if (isMp3(head)) return bytes / minBytesPerSecond;
  const rate = wavBytesPerSecond(head);
  return rate === null ? null : bytes / rate;
}

function isMp3(head: Buffer): boolean {
  return head.toString("latin1", 0, 3) === "ID3" || (head[0] === 0xff && ((head[1] ?? 0) & 0xe6) === 0xe2);
}

/** The byte rate of uncompressed audio, from the header fields that players use. */
function wavBytesPerSecond(head: Buffer): number | null {
  if (head.length < wavHeadBytes) return null;
  const isPlain = head.toString("latin1", 8, 16) === "WAVEfmt " && head.readUInt16LE(20) === 1;
  const rate = isPlain ? head.readUInt32LE(24) * head.readUInt16LE(32) : 0;
  return rate > 0 ? rate : null;
}
