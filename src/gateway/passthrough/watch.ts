import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage.ts";
import { jsonOf, type RawEvent, rawEvents, UnreadEvents } from "./raw-events.ts";

/** What becomes of one event: it leaves, it is left out, or the stream's proper end or failure begins with it. */
export type Ruling = "forward" | "drop" | "hold" | "stop";

/** Where a stream stands, for dialects whose events are numbered. */
export interface StreamPosition {
  readonly sequenceNumber: number;
  readonly responseId: string | null;
}

/**
 * Reads a passthrough stream in passing. It never changes a byte; it says which bytes may leave now and
 * which must wait until the charge is committed, and it knows what was produced if the stream breaks off.
 *
 * Speed comes from not looking: each dialect names marks that its few important events carry, they are
 * searched for natively in the bytes, and only a run of events with a mark is taken apart.
 */
export abstract class Watch {
  /** The event that ends the stream and all behind it that came along. */
  held: Uint8Array | null = null;
  /** Set when the provider reported a failure inside its stream. */
  failure: GatewayError | null = null;
  /** True once content has been seen. */
  started = false;
  /** The provider's final figures, null as long as it has told none. */
  abstract readonly usage: Usage | null;
  /** Figures that hold even if the stream breaks off now, such as the input of `message_start`. */
  abstract readonly partialUsage: Usage | null;
  readonly #unread = new UnreadEvents();
  #produced = "";

  /** Takes whole events; returns those that may leave now. What ends the stream is kept in `held`. */
  pass(events: Uint8Array): Uint8Array {
    const view = Buffer.from(events.buffer, events.byteOffset, events.byteLength);
    const leaving = this.isMarked(view) ? this.#sort(view) : events;
    this.#unread.add(leaving);
    if (!this.started || this.#unread.tooMany) this.#read();
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

  get position(): StreamPosition {
    return { sequenceNumber: 0, responseId: null };
  }

  protected abstract isMarked(events: Buffer): boolean;
  protected abstract judge(event: RawEvent): Ruling;
  /** The text that an event produced, all of it that a provider bills. */
  protected abstract producedBy(event: JsonObject): string;

  /** Reads what was put off; the last thing a stream with its own count ever needs. */
  protected readUnread(): void {
    this.#read();
  }

  #sort(view: Buffer): Uint8Array {
    const kept: Uint8Array[] = [];
    for (const event of rawEvents(view)) {
      const ruling = this.judge(event);
      if (ruling === "hold") this.held = view.subarray(event.start);
      if (ruling === "hold" || ruling === "stop") break;
      if (ruling === "forward") kept.push(view.subarray(event.start, event.end));
    }
    return kept.length === 1 ? (kept[0] as Uint8Array) : Buffer.concat(kept);
  }

  #read(): void {
    for (const run of this.#unread.take()) {
      for (const { data } of rawEvents(run)) {
        const event = jsonOf(data);
        if (event !== null) this.#produced += this.producedBy(event);
      }
    }
    if (this.#produced !== "") this.started = true;
  }
}
