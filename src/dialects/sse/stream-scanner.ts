import { asBuffer } from "../../base/as-buffer.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras } from "../../base/extra-usage.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";
import { wholeEventsEnd } from "./frame-joiner.ts";
import { jsonOf, type RawEvent, rawEvent, rawEvents, UnreadEvents } from "./raw-events.ts";

/** What stands for an index where there is none. */
export const none = -1;

const nothingGiven: readonly string[] = [];

/** The smaller of two places, where there are any. */
export function earlier(one: number, other: number): number {
  if (one === none || other === none) return Math.max(one, other);
  return Math.min(one, other);
}

/** What to do with an event. `hold` begins the stream's proper end, `stop` its failure. */
export type EventAction = "forward" | "drop" | "hold" | "stop";

/** Where a stream stands, for dialects whose events are numbered. */
export interface ScanPosition {
  readonly sequenceNumber: number;
  readonly responseId: string | null;
}

/**
 * Reads a passthrough stream in passing. It never changes a byte; it says which bytes may leave now and
 * which must wait until the charge is committed, and it knows what was produced if the stream breaks off.
 *
 * Speed comes from not looking: each dialect names marks that its few important events carry, they are
 * searched for natively in the bytes, and only events with a mark are looked at.
 */
export abstract class StreamScanner {
  /** The event that ends the stream and all behind it that came along. */
  held: Uint8Array | null = null;
  /** Set when the provider reported a failure inside its stream. */
  failure: GatewayError | null = null;
  /** True once content has been seen. */
  started = false;
  /** The provider's final figures, null if it has reported none; only asked for when its stream is over. */
  abstract readonly usage: ReportedUsage | null;
  /** The latest figures, if the stream breaks off now: of the output there may be more than they say. */
  abstract readonly partialUsage: ReportedUsage | null;
  /** Ids of the provider's own things that have been shown so far, as far as a later request may name them. */
  given: readonly string[] = nothingGiven;
  /** What the provider has reported beside its usage. */
  abstract readonly extras: ReportedExtras | null;
  readonly #unread = new UnreadEvents();
  #produced = "";

  /** Takes whole events; returns those that may leave now. What ends the stream is kept in `held`. */
  pass(events: Uint8Array): Uint8Array {
    const leaving = this.#sort(asBuffer(events));
    this.#unread.add(this.started ? leaving : leaving.subarray(this.#readToContent(leaving)));
    if (this.#unread.tooMany) this.#read();
    return leaving;
  }

  /** Text produced since the last call. */
  takeProduced(): string {
    this.#read();
    const produced = this.#produced;
    this.#produced = "";
    return produced;
  }

  get producedChars(): number {
    return this.#produced.length;
  }

  /**
   * The provider's body is over and nothing is held. What the stream still lacks for a proper end, or null
   * when it broke off.
   */
  missingTerminal(): string | null {
    return null;
  }

  get position(): ScanPosition {
    return { sequenceNumber: 0, responseId: null };
  }

  /** Where in these bytes the first mark stands, or `none`. It must not come after the event that carries it. */
  protected abstract firstMark(events: Buffer): number;
  protected abstract actionFor(event: RawEvent): EventAction;
  /** The text that an event produced, all of it that a provider bills. */
  protected abstract producedBy(event: JsonObject): string;

  /** Reads what was put off; the last thing a stream with its own count ever needs. */
  protected readUnread(): void {
    this.#read();
  }

  #sort(events: Buffer): Uint8Array {
    const kept: Uint8Array[] = [];
    let keptFrom = 0;
    let keptTo = events.length;
    for (let at = 0; at < events.length; ) {
      const mark = this.firstMark(events.subarray(at));
      if (mark === none) break;
      const event = rawEvent(events, at + wholeEventsEnd(events.subarray(at, at + mark)));
      const action = this.actionFor(event);
      if (action === "hold") this.held = events.subarray(event.start);
      if (action === "hold" || action === "stop") {
        keptTo = event.start;
        break;
      }
      if (action === "drop") {
        if (event.start > keptFrom) kept.push(events.subarray(keptFrom, event.start));
        keptFrom = event.end;
      }
      at = event.end;
    }
    if (keptTo > keptFrom || kept.length === 0) kept.push(events.subarray(keptFrom, keptTo));
    // What is left out mostly stands right before what is held, so that one piece leaves and nothing is copied.
    return kept.length === 1 ? (kept[0] as Uint8Array) : Buffer.concat(kept);
  }

  /** Reads up to and including the first content; returns the index behind it. */
  #readToContent(events: Uint8Array): number {
    let end = 0;
    while (end < events.length && !this.started) {
      const event = rawEvent(events, end);
      this.#readEvent(event.data);
      end = event.end;
    }
    return end;
  }

  #read(): void {
    for (const run of this.#unread.take()) {
      for (const { data } of rawEvents(run)) this.#readEvent(data);
    }
  }

  #readEvent(data: string): void {
    const event = jsonOf(data);
    if (event === null) return;
    this.#produced += this.producedBy(event);
    if (this.#produced !== "") this.started = true;
  }
}
