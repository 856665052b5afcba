import { asBuffer } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import { errorIn } from "../errors/bare-error.ts";
import {
  addDataLine,
  dataOf,
  dataOfBytes,
  eventNameOf,
  fieldValue,
  firstEventEnd,
  maxCutChars,
  withLineFeeds,
} from "./data-field.ts";
import { FrameJoiner } from "./frame-joiner.ts";

/** One server-sent event. `event` is "" if the frame has no `event` line; `data` has its lines joined. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
  /** The data as JSON, if it is large and was parsed elsewhere. */
  readonly parsed?: ParsedEvent;
}

/** The data of an event as JSON. */
export interface ParsedEvent {
  /** Null if it is no object, or if nothing of it would be left. */
  readonly json: JsonObject | null;
  /** It has too many values, or nests too deeply, to be parsed whole: null is in the place of its largest parts. */
  readonly isCut: boolean;
}

/** A comment, which readers of server-sent events ignore, and so legal anywhere in a stream. */
export const keepaliveComment = ": keepalive\n\n";

const decoder = new TextDecoder();

/**
 * Decodes one stream's bytes into frames, wherever the chunks are cut. An event that is not complete waits as bytes, so only
 * whole events are decoded. Either `push` a chunk and get all its frames, or `feed` it and call `next` until it returns null.
 */
export class SseDecoder {
  readonly #joiner = new FrameJoiner();
  /** Whole events, and how much of them has been read. */
  #text = "";
  #at = 0;
  /** Positions of the next LF and the next CR, or the text's length if there is none. Searched for again once passed. */
  #feed = 0;
  #return = 0;
  /** A large event before that text. */
  #large: SseFrame | null = null;
  /** Lines of bare JSON between the events. */
  #bare = "";

  /** Throws `upstream_error` for a frame of more than 8 MiB. */
  push(bytes: Uint8Array): SseFrame[] {
    this.feed(bytes);
    return this.#rest();
  }

  /**
   * At the end of the body. The last frame may lack its blank line, and the last line its line end. Google continues a
   * stream that fails as bare JSON: such an error is the last frame.
   */
  end(): SseFrame[] {
    this.#load(this.#joiner.rest());
    const frames = this.#rest();
    const error = bareError(this.#bare);
    return error === null ? frames : [...frames, error];
  }

  /** How much of a frame has come that is not complete. */
  get pendingBytes(): number {
    return this.#joiner.pendingBytes;
  }

  /** Only after `next` has returned all frames of the previous chunk. Throws `upstream_error` for a frame of more than 8 MiB. */
  feed(bytes: Uint8Array): void {
    this.#load(this.#joiner.push(bytes));
  }

  /** Null when more bytes are needed. By the standard, an event without data is none. Comments and other fields are ignored. */
  next(): SseFrame | null {
    const first = this.#large;
    this.#large = null;
    if (first !== null) return first;
    let event = "";
    let data: string | null = null;
    const large = this.#text.length > maxCutChars ? this.#nextLarge() : null;
    if (large !== null) return large;
    while (this.#at < this.#text.length) {
      const line = this.#nextLine();
      if (line !== "") {
        const more = addDataLine(data, line);
        if (more !== data) data = more;
        else if (line.startsWith("event:")) event = fieldValue(line, 6);
        else if (this.#bare !== "" || bareStart.test(line)) this.#takeBare(line);
        continue;
      }
      if (data !== null && data !== "") return { event, data };
      event = "";
      data = null;
      if (this.#bare === "") this.#skipToField();
    }
    return data === null || data === "" ? null : { event, data };
  }

  /** A large event is not cut into its lines, which `#load` has made end in LF. Null if the next event is none. */
  #nextLarge(): SseFrame | null {
    const text = this.#text;
    const end = text.indexOf("\n\n", this.#at);
    if (end - this.#at < maxCutChars) return null;
    const lines = text.slice(this.#at, end);
    const data = dataOf(lines);
    if (data === "" && (this.#bare !== "" || bareLine.test(lines))) return null;
    this.#at = end + 2;
    return data === "" ? null : { event: eventNameIn(lines), data };
  }

  /**
   * Skips megabytes of blank lines and comments by a native search. Only the last line may be incomplete, so it is not skipped. If
   * a CR is skipped but not its LF, that makes one more blank line.
   */
  #skipToField(): void {
    const text = this.#text;
    fieldStart.lastIndex = this.#at;
    const found = fieldStart.exec(text)?.index ?? text.length - 1;
    const skipped = text.slice(this.#at, found);
    this.#at += Math.max(skipped.lastIndexOf("\n"), skipped.lastIndexOf("\r")) + 1;
  }

  #rest(): SseFrame[] {
    const frames: SseFrame[] = [];
    for (let frame = this.next(); frame !== null; frame = this.next()) frames.push(frame);
    return frames;
  }

  #load(events: Uint8Array | null): void {
    if (events === null) return;
    const rest = events.length > maxCutChars ? withLineFeeds(this.#takeLarge(events)) : events;
    this.#text = decoder.decode(rest);
    this.#at = 0;
    this.#feed = -1;
    this.#return = -1;
  }

  /** An event that came in many chunks is the first of them. It is read as bytes; returns what follows it. */
  #takeLarge(events: Uint8Array): Uint8Array {
    const all = asBuffer(events);
    const end = firstEventEnd(all);
    if (end <= maxCutChars) return events;
    // A copy, because its lines are joined in place.
    const event = Buffer.from(all.subarray(0, end));
    const name = eventNameOf(event);
    const data = dataOfBytes(event);
    if (data !== null && data !== "") this.#large = { event: name, data };
    else if (this.#bare !== "" || mayBeBare(all.subarray(0, end))) return events;
    return all.subarray(end);
  }

  #nextLine(): string {
    const text = this.#text;
    const from = this.#at;
    if (this.#feed < from) this.#feed = orEnd(text, text.indexOf("\n", from));
    if (this.#return < from) this.#return = orEnd(text, text.indexOf("\r", from));
    const end = Math.min(this.#feed, this.#return);
    this.#at = end + (this.#feed === this.#return + 1 ? 2 : 1);
    return text.slice(from, end);
  }

  #takeBare(line: string): void {
    const isComment = line.startsWith(":");
    if (!isComment && this.#bare.length + line.length <= maxBareChars) this.#bare += `${line}\n`;
  }
}

/** The first letter of `data` and `event`, or the start of bare JSON. A comment may have them too, and is then read. */
const fieldStart = /[de[{]/g;

const bareStart = /^\s*[[{]/;
const bareLine = /^\s*[[{]/m;
function mayBeBare(event: Buffer): boolean {
  return event.includes("{") || event.includes("[");
}

const maxBareChars = 64 * 1024;

/** Null if the lines are not an error. */
function bareError(lines: string): SseFrame | null {
  const error = lines === "" ? null : errorIn(lines);
  return error === null ? null : { event: "", data: JSON.stringify(error) };
}

function orEnd(text: string, found: number): number {
  return found === -1 ? text.length : found;
}

/** `data` must be one line, as JSON text always is. */
export function namedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

export function dataFrame(data: string): string {
  return `data: ${data}\n\n`;
}

/** The name of an event. If it has several, the last counts. */
function eventNameIn(lines: string): string {
  const at = lines.lastIndexOf("\nevent:") + 1;
  if (at === 0 && !lines.startsWith("event:")) return "";
  return fieldValue(lines.slice(at, orEnd(lines, lines.indexOf("\n", at))), 6);
}
