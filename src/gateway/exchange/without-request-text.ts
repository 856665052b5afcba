import { isObject } from "../../base/json.ts";

/** A larger body is not compared; quotations are cut instead. */
export const comparedBytes = 16 * 1024;
/** Shorter runs of letters coincide by chance. */
const runChars = 12;
const leftOut = "[…]";
/** The values of these fields come from the API, not from the client. */
const apiFields: ReadonlySet<string> = new Set(["role", "type"]);

/**
 * The part of a message about a request that may be stored. Prompts may not, but providers quote them, and our own
 * messages have names that clients made up. Any text that the message shares with the request is removed. `body` is
 * null if it was too large to compare; then everything from the first quotation on is removed.
 */
export function withoutRequestText(
  message: string,
  body: Uint8Array | null,
  known: ReadonlySet<string>,
): string {
  if (body === null) return cutAtQuotation(message);
  const texts = textsOf(body, known);
  const all = texts.join("\n");
  const isShared = new Uint8Array(message.length);
  for (let at = 0; at + runChars <= message.length; at += 1) {
    if (all.includes(message.slice(at, at + runChars))) isShared.fill(1, at, at + runChars);
  }
  let kept = "";
  for (let at = 0; at < message.length; at += 1) {
    if (isShared[at] === 0) kept += message[at];
    else if (isShared[at - 1] !== 1) kept += leftOut;
  }
  return texts.filter(isShortText).reduce((rest, text) => rest.replaceAll(text, leftOut), kept);
}

function cutAtQuotation(message: string): string {
  const at = message.search(/["'`“‘{[]/);
  return at === -1 ? message : `${message.slice(0, at)}${leftOut}`;
}

function isShortText(text: string): boolean {
  return text.length >= 6 && text.length < runChars;
}

/** Every text that the client wrote, or the whole body if it is not JSON. */
function textsOf(body: Uint8Array, known: ReadonlySet<string>): string[] {
  const source = new TextDecoder().decode(body);
  const texts: string[] = [];
  const collect = (value: unknown, name: string): void => {
    if (typeof value === "string") {
      if (!apiFields.has(name) && !known.has(value)) texts.push(value);
    } else if (Array.isArray(value)) {
      for (const item of value) collect(item, name);
    } else if (isObject(value)) {
      for (const [member, inner] of Object.entries(value)) collect(inner, member);
    }
  };
  try {
    collect(JSON.parse(source), "");
  } catch {
    return [source];
  }
  return texts;
}
