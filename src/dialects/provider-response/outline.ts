import { asBuffer } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { isObject, type JsonObject, nestsTooDeeply, tryParse } from "../../base/json.ts";
import { malformedResponse } from "../errors/failure.ts";
import { closeBracket, openBracket } from "../json/json-bytes.ts";

/** Shorter texts are parsed whole. */
const maxParsedBytes = 16 * 1024;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * A provider's JSON object whose list `name` may be megabytes, without the items of that list. The list is cut out by native
 * search: from its opening bracket to the last closing one. If the rest is not JSON, because another list follows, the whole text
 * is parsed. Throws `upstream_error` if the text is not an object.
 */
export function readOutline(bytes: Uint8Array, name: string): JsonObject {
  const text = asBuffer(bytes);
  return (text.length <= maxParsedBytes ? null : withoutList(text, name)) ?? parseResponse({ bytes });
}

export function parseResponse({ bytes }: { readonly bytes: Uint8Array }): JsonObject {
  let text: string;
  let whole: unknown;
  try {
    text = decoder.decode(bytes);
    whole = JSON.parse(text);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The provider sent a body that is not JSON.", { cause });
  }
  if (!isObject(whole)) throw malformedResponse("it is not an object");
  if (nestsTooDeeply(whole, text)) throw malformedResponse("it is nested too deeply");
  return whole;
}

/** The number of members with the most frequent of these names. Their values are texts without quotes. */
export function countMembers(bytes: Uint8Array, names: readonly string[]): number {
  const text = asBuffer(bytes);
  const counts = names.map((name) => {
    const mark = Buffer.from(`"${name}"`);
    let count = 0;
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) count += 1;
    return count;
  });
  return Math.max(...counts);
}

function withoutList(text: Buffer, name: string): JsonObject | null {
  const member = text.indexOf(`"${name}"`);
  const start = member === -1 ? -1 : text.indexOf(openBracket, member);
  const end = text.lastIndexOf(closeBracket);
  if (start === -1 || end < start) return null;
  const outline = tryParse(`${text.toString("utf8", 0, start)}[]${text.toString("utf8", end + 1)}`);
  return isObject(outline) && Array.isArray(outline[name]) ? outline : null;
}
