import { isObject, type JsonObject } from "../../base/json.ts";

const decoder = new TextDecoder();
const keepBytes = 64 * 1024;
const lf = 10;
const cr = 13;
const space = 32;

/** Where one event lies within a run of whole events, and its data; comments alone have empty data. */
export interface RawEvent {
  readonly start: number;
  readonly end: number;
  readonly data: string;
}

export function* rawEvents(events: Uint8Array): Generator<RawEvent> {
  for (let start = 0; start < events.length; ) {
    const event = rawEvent(events, start);
    yield event;
    start = event.end;
  }
}

/** The event that begins at this index. */
export function rawEvent(events: Uint8Array, start: number): RawEvent {
  const end = eventEnd(events, start);
  return { start, end, data: dataOf(decoder.decode(events.subarray(start, end))) };
}

function eventEnd(bytes: Uint8Array, start: number): number {
  let lineIsEmpty = false;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte !== lf && byte !== cr) {
      lineIsEmpty = false;
      continue;
    }
    if (byte === cr && bytes[at + 1] === lf) at += 1;
    if (lineIsEmpty) return at + 1;
    lineIsEmpty = true;
  }
  return bytes.length;
}

function dataOf(event: string): string {
  const isOneLine = event.startsWith("data: ") && event.indexOf("\n") === event.length - 2;
  if (isOneLine && event.endsWith("\n\n") && !event.endsWith("\r\n\n")) return event.slice(6, -2);
  let data: string | null = null;
  for (const line of event.split(/\r\n|\n|\r/)) {
    if (!line.startsWith("data:")) continue;
    const value = line.slice(line.charCodeAt(5) === space ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data ?? "";
}

/** An event's JSON, or null for `[DONE]`, comments and anything broken: a scanner only reads, it never judges. */
export function jsonOf(data: string): JsonObject | null {
  if (!data.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Events whose content nobody has looked at yet. Most streams end with the provider's own count, and then
 * nobody ever needs to: parsing each of them would be the largest cost of passing a stream through.
 */
export class UnreadEvents {
  #runs: Uint8Array[] = [];
  #bytes = 0;

  add(events: Uint8Array): void {
    this.#runs.push(events);
    this.#bytes += events.length;
  }

  get tooMany(): boolean {
    return this.#bytes > keepBytes;
  }

  /** Oldest first; they are forgotten here. */
  take(): readonly Uint8Array[] {
    const runs = this.#runs;
    this.#runs = [];
    this.#bytes = 0;
    return runs;
  }
}
