import { assert } from "../../base/assert.ts";
import { closingQuote, escapeText, plainClosingQuote, unescapeText } from "../json/json-string.ts";

/** Where an event's data has a value that differs from event to event. `end` is the index after it. */
export interface Hole {
  readonly kind: "text" | "number" | "padding";
  readonly start: number;
  readonly end: number;
}

/** An event around its values. */
export interface EventPattern {
  readonly opening: string;
  /** Each with what is between it and the one before, which is "" for the first. */
  readonly values: readonly { readonly kind: Hole["kind"]; readonly before: string }[];
  /** From the last value to the end. */
  readonly closing: string;
  /** From there to the first value of an event like it that follows, so that one comparison serves both. */
  readonly closingToNext: string;
  /** The number of the event that the pattern was made from. */
  readonly sequenceNumber: number | null;
}

/** Events that differ only in their text and number: their pattern, and all of their texts in one. */
export interface RepeatedEvents {
  readonly pattern: EventPattern;
  readonly text: string;
}

/**
 * Repeated events that have been matched. Their text is read when it has to be counted: of a short stream that reports its usage,
 * that is never. 785 → 655 instructions an event.
 */
export class RepeatedRun implements RepeatedEvents {
  readonly pattern: EventPattern;
  /** The read that has them, and the indexes of the first one and after the last. */
  readonly events: string;
  readonly start: number;
  readonly end: number;
  /** The length of their text. */
  readonly chars: number;
  #text: string | null = null;

  constructor(pattern: EventPattern, events: string, start: number, end: number, chars: number) {
    this.pattern = pattern;
    this.events = events;
    this.start = start;
    this.end = end;
    this.chars = chars;
  }

  get text(): string {
    this.#text ??= this.#read();
    return this.#text;
  }

  #read(): string {
    const { pattern, events, end } = this;
    let text = "";
    for (let at = this.start; at < end; at += pattern.closing.length) {
      at += pattern.opening.length;
      for (const { kind, before } of pattern.values) {
        const start = at + before.length;
        at = kind === "number" ? endOfDigits(events, start) : endOfText(events, start);
        assert(at !== -1, "what was matched can be read again");
        if (kind === "text") text += textBetween(events, start, at) ?? "";
      }
    }
    return text;
  }
}

/** One event in place of all that repeat a pattern. */
export function joinRepeated({ pattern, text }: RepeatedEvents): string {
  const { opening, values, closing, sequenceNumber } = pattern;
  const written = { text: escapeText(text), number: `${sequenceNumber}`, padding: "" };
  return opening + values.map(({ kind, before }) => before + written[kind]).join("") + closing;
}

const zero = 48;
const nine = 57;

/** The index after the inside of a JSON string. */
function endOfText(events: string, start: number): number {
  const plain = plainClosingQuote(events, start);
  return plain === -1 ? closingQuote(events, start) : plain;
}

/** What is written between these indexes inside of a JSON string; null if it is not valid there. */
export function textBetween(events: string, start: number, end: number): string | null {
  const written = events.slice(start, end);
  return written.includes("\\") ? unescapeText(written) : written;
}

export function endOfDigits(events: string, at: number): number {
  let end = at;
  for (let code = events.charCodeAt(end); code >= zero && code <= nine; code = events.charCodeAt(end))
    end += 1;
  return end;
}
