import { tableOf } from "../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { fieldOf, repeated, spellings } from "../base/proto-json.ts";
import { isPlainText } from "./attachments.ts";

/**
 * What a value in a body of Google's form is: a list of contents, of parts, the result of a function, or a medium. Google's media have
 * no `type`: they are known by where they are. Everything else is text, such as arguments that look like a medium. A list
 * and its only item are the same there.
 */
export type GooglePlace = "request" | "contents" | "parts" | "result" | "medium" | "text";

const members: Readonly<Record<GooglePlace, Readonly<Record<string, GooglePlace>>>> = {
  request: places({
    contents: "contents",
    systemInstruction: "contents",
    generateContentRequest: "request",
  }),
  contents: places({ parts: "parts" }),
  parts: places({ inlineData: "medium", fileData: "medium", functionResponse: "result" }),
  result: places({ parts: "parts" }),
  medium: places({}),
  text: places({}),
};

function places(fields: Readonly<Record<string, GooglePlace>>): Readonly<Record<string, GooglePlace>> {
  const spelled = Object.entries(fields).flatMap(([field, place]) =>
    spellings([field]).map((name) => [name, place] as const),
  );
  return tableOf<GooglePlace>(Object.fromEntries(spelled));
}

/** Where a member's value is; null for the members of a request that Google's form does not define. */
export function googlePlace(name: string, within: GooglePlace): GooglePlace | null {
  return members[within][name] ?? (within === "request" ? null : "text");
}

/** Number of tools in one: Google's have a list of functions. */
export function toolsIn(tool: Json): number {
  if (!isObject(tool)) return 1;
  return Math.max(1, repeated(fieldOf(tool, "functionDeclarations")).length);
}

/** Data or an address, as the block that other dialects have for it. */
export function mediumBlock(medium: JsonObject): JsonObject {
  const mediaType = mediaTypeOf(medium);
  const type = blockTypeOf(mediaType);
  const url = fieldOf(medium, "fileUri") ?? null;
  const { data = null } = medium;
  if (url !== null) return { type, source: { type: "url", url } };
  if (type === "input_audio") return { type, input_audio: { data } };
  const text = textType.test(mediaType) && typeof data === "string" ? Buffer.from(data, "base64") : null;
  if (text !== null && isPlainText(text.toString("latin1", 0, sniffedBytes)))
    return { type: "text", text: text.toString() };
  return { type, source: { type: "base64", data } };
}

/** Whether there is an image in a value at this place. Its texts may be truncated. */
export function hasImage(value: Json | undefined, place: GooglePlace): boolean {
  if (Array.isArray(value)) return value.some((item) => hasImage(item, place));
  if (!isObject(value) || place === "text") return false;
  if (place === "medium") return blockTypeOf(mediaTypeOf(value)) === "image";
  return Object.keys(value).some((name) => hasImage(value[name], googlePlace(name, place) ?? "text"));
}

function mediaTypeOf(medium: JsonObject): string {
  const type = fieldOf(medium, "mimeType");
  return typeof type === "string" ? type.toLowerCase() : "";
}

const sniffedBytes = 1024;
const textType = /^(?:text\/|application\/(?:json|xml|yaml))/;

/** `video` stands for everything whose tokens nothing bounds. */
function blockTypeOf(mediaType: string): "image" | "document" | "input_audio" | "video" {
  if (mediaType.startsWith("image/")) return "image";
  if (mediaType.startsWith("audio/")) return "input_audio";
  return mediaType === "application/pdf" ? "document" : "video";
}
