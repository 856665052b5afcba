import { type JsonObject, tryParse } from "../../base/json.ts";
import { objectOf } from "../json/json-fields.ts";

/** After this many patterns in a row that no event has matched, a stream's events are taken to differ in more than their text. */
const maxUnmatched = 4;

/** An event, and its data inside it. */
export interface EventText {
  readonly event: string;
  readonly data: string;
}

/** An event around its text, and around its padding if it has one. */
interface TextPattern {
  readonly beforeText: string;
  readonly afterText: string;
  readonly afterPadding: string | null;
}

const probe = "a text that no event has";

/** OpenAI pads events to hide the length of their text. */
const paddingName = '"obfuscation":"';

const quote = 34;
const backslash = 92;
const firstPrintable = 32;

/**
 * Recognizes events that repeat the one before in everything but their text, as nearly all of a stream's do, so that they need not
 * be parsed: 1.6 → 0.4 µs an event of chat or messages.
 */
export class RepeatedText {
  /** The text of the event that was matched last. */
  text = "";
  #pattern: TextPattern | null = null;
  #unmatched = 0;

  /** Matches the event at this index, and returns the index after it; -1 if it has to be parsed. */
  match(events: string, at: number): number {
    const pattern = this.#pattern;
    if (pattern === null || !events.startsWith(pattern.beforeText, at)) return -1;
    const start = at + pattern.beforeText.length;
    const end = plainEnd(events, start);
    if (end <= start || !events.startsWith(pattern.afterText, end)) return -1;
    const next = endOfPadding(events, end + pattern.afterText.length, pattern.afterPadding);
    if (next === -1) return -1;
    this.text = events.slice(start, end);
    this.#unmatched = 0;
    return next;
  }

  /** Takes an event with this text as the pattern for those that follow. `readText` reads the text of an event like it. */
  learn({ event, data }: EventText, text: string, readText: (json: JsonObject) => string | null): void {
    if (this.#unmatched >= maxUnmatched) return;
    const quoted = `"${text}"`;
    const inData = data.indexOf(quoted) + 1;
    // After a backslash, text may stand where it only seems to be a value.
    if (inData === 0 || data.includes("\\") || data.includes(quoted, inData)) return;
    const probed = objectOf(tryParse(data.slice(0, inData) + probe + data.slice(inData + text.length)));
    const at = event.indexOf(data);
    // A comment in front of it may have the same text.
    if (at === -1 || at !== event.lastIndexOf(data)) return;
    if (probed === null || readText(probed) !== probe) return;
    const start = at + inData;
    this.#unmatched += 1;
    this.#pattern = { beforeText: event.slice(0, start), ...splitPadding(event.slice(start + text.length)) };
  }

  forget(): void {
    this.#pattern = null;
  }
}

/** The index of the quote that ends a text in which nothing is escaped; -1 if there is none. */
function plainEnd(events: string, start: number): number {
  for (let at = start; at < events.length; at += 1) {
    const char = events.charCodeAt(at);
    if (char === quote) return at;
    if (char === backslash || char < firstPrintable) return -1;
  }
  return -1;
}

function splitPadding(afterText: string): Pick<TextPattern, "afterText" | "afterPadding"> {
  const name = afterText.indexOf(paddingName);
  const start = name + paddingName.length;
  if (name === -1) return { afterText, afterPadding: null };
  return {
    afterText: afterText.slice(0, start),
    afterPadding: afterText.slice(plainEnd(afterText, start)),
  };
}

function endOfPadding(events: string, at: number, afterPadding: string | null): number {
  if (afterPadding === null) return at;
  const end = plainEnd(events, at);
  return end !== -1 && events.startsWith(afterPadding, end) ? end + afterPadding.length : -1;
}
