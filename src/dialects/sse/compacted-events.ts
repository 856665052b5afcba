import type { RepeatedEvents, RepeatedRun } from "./repeated-run.ts";

/** The events of a read in their order, as they came, but for those that repeat one before. */
export type CompactedEvents = readonly (string | RepeatedEvents)[];

/** Notes, while events are read, which of them repeat one before, so that a recording need not copy and read all of them again. */
export class EventCompactor {
  #events: (string | RepeatedEvents)[] = [];
  #text: string | null = null;
  /** Up to here the text has been noted. */
  #notedTo = 0;

  /** `text`: the events to be read; null if they are read as bytes, and not compacted. */
  begin(text: string | null): void {
    this.#text = text;
    this.#events = [];
    this.#notedTo = 0;
  }

  repeated(run: RepeatedRun): void {
    this.drop(run.start, run.end);
    this.#events.push(run);
  }

  /** What is between these indexes is not forwarded. */
  drop(start: number, end = Number.POSITIVE_INFINITY): void {
    if (start > this.#notedTo) this.#events.push(this.#text?.slice(this.#notedTo, start) ?? "");
    this.#notedTo = end;
  }

  /** The events that are forwarded; null if they were read as bytes. */
  take(): CompactedEvents | null {
    const text = this.#text;
    if (text === null) return null;
    this.drop(text.length);
    this.#text = null;
    return this.#events;
  }
}
