import { asBuffer } from "../../base/bytes/as-buffer.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedExtras } from "../../base/usage/extra-usage.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import { eventTooLarge } from "../errors/failure.ts";
import { streamedText } from "../produced.ts";
import { type ReportedSoFar, runningTotal } from "../usage/usage-figures.ts";
import { isDoneMark } from "./data-field.ts";
import { wholeEventsEnd } from "./frame-joiner.ts";
import { dataOfEvents, eventEnd, meaningOf, type RawEvent, rawEvent, startAfter } from "./raw-events.ts";
import type { ParsedEvent } from "./sse.ts";
import { UnreadEvents } from "./unread-events.ts";

/** Returned instead of an index. */
export const none = -1;

const nothingGiven: readonly string[] = [];
const nothing = new Uint8Array(0);
const mostUnreadBytes = 64 * 1024;

/** In the bytes, where a native search finds them. With its quotes, a mark cannot match inside a JSON string, where quotes are escaped. */
export function marksOf(...texts: readonly string[]): readonly Buffer[] {
  return texts.map((text) => Buffer.from(text));
}

/** The smaller of two indexes, ignoring `none`. */
export function earlier(one: number, other: number): number {
  if (one === none || other === none) return Math.max(one, other);
  return Math.min(one, other);
}

/** What to do with an event. `hold` begins the stream's proper end, `stop` its failure. */
export type EventAction = "forward" | "drop" | "hold" | "stop";

/** How far a stream has got, for dialects whose events are numbered. */
export interface ScanPosition {
  readonly sequenceNumber: number;
  readonly responseId: string | null;
  /** Events that continue an answer may follow. */
  readonly hasBegun: boolean;
}

/**
 * Reads a passthrough stream without changing it: decides which bytes are forwarded now and which are held until the
 * charge is committed, and knows what was produced if the stream breaks off.
 *
 * It is fast because it parses little. Each dialect names marks that only its important events contain; they are found
 * by native search in the bytes, and only events with a mark are parsed.
 */
export abstract class StreamScanner implements ReportedSoFar {
  /** The event that ends the stream, and the bytes that arrived after it. */
  held: Uint8Array | null = null;
  /** Set if the provider reported a failure inside its stream. */
  failure: GatewayError | null = null;
  /** True once content has been seen. */
  started = false;
  /** The latest usage, for a stream that breaks off. It may not include all of the output. */
  partialUsage: ReportedUsage | null = null;
  /** The most output that figures have reported so far. */
  reportedOutput = 0;
  /** The length of all reasoning so far that only its provider can read. It is content, too. */
  sealedChars = 0;
  /** Ids in the stream so far that a later request may refer to. */
  given: readonly string[] = nothingGiven;
  /** What the provider has reported besides its usage. */
  abstract readonly extras: ReportedExtras | null;
  readonly #marks: readonly Buffer[];
  /**
   * Events that have been forwarded but not parsed, oldest first. Most streams end with the provider's usage, and then their
   * content is never needed. Parsing every event would be the largest cost of a passthrough stream.
   */
  readonly #unread = new UnreadEvents();
  #produced = "";
  #hasEndedText = false;
  /** Figures have come that include the output up to them. */
  #hasFigures = false;
  /** The index after the event with the last figures, within the events passed in. */
  #figuresEnd = 0;
  /** The index of the event that ends the stream, within the events passed in: neither it nor what follows it leaves. */
  #leavingEnd = 0;
  /** Content arrived after the last figures, which therefore cannot include it. */
  #areFiguresOutdated = false;

  constructor(marks: readonly Buffer[]) {
    this.#marks = marks;
  }

  /** Takes whole events and returns those to forward now. What ends the stream is kept in `held`. */
  pass(events: Uint8Array): Uint8Array {
    this.#figuresEnd = 0;
    this.#leavingEnd = events.length;
    const leaving = this.#pass(events);
    if (this.#hasFigures) this.#lookBehindFigures(events.subarray(this.#figuresEnd, this.#leavingEnd));
    return leaving;
  }

  #pass(events: Uint8Array): Uint8Array {
    const buffer = asBuffer(events);
    const leaving = this.firstMark(buffer) === none ? buffer : this.#sort(buffer);
    this.#unread.add(this.started ? leaving : leaving.subarray(this.#readToContent(leaving)));
    if (this.#unread.bytes > mostUnreadBytes) this.readUnread();
    return leaving;
  }

  /** The same for one event that was parsed elsewhere, because it is large. */
  passLarge(event: Uint8Array, parsed: ParsedEvent): Uint8Array {
    // The order of the text is kept.
    this.readUnread();
    this.#figuresEnd = 0;
    const { json } = parsed;
    const isMarked = this.firstMark(asBuffer(event)) !== none;
    const action = isMarked ? this.#actionForLarge(event, parsed) : "forward";
    if (action === "hold") this.held = event;
    if (action !== "forward") return nothing;
    const text =
      json === null ? this.#readPlain(parsed.isCut ? "" : rawEvent(event, 0).data) : this.#readJson(json);
    if (text !== "" && this.#figuresEnd === 0) this.#areFiguresOutdated = true;
    return event;
  }

  #actionForLarge(event: Uint8Array, { json, isCut }: ParsedEvent): EventAction {
    if (json !== null) return this.actionFor({ start: 0, end: event.length, data: "" }, json);
    if (!isCut) return this.actionFor(rawEvent(event, 0), json);
    this.failure = eventTooLarge();
    return "stop";
  }

  /**
   * The provider's usage for the whole answer; null before it has reported that. Figures of a stream that goes on are about
   * a part of it, and those of one that has gone on since are doubtful.
   */
  get usage(): ReportedUsage | null {
    if (this.partialUsage === null || !this.#hasFigures || !this.hasFinished) return null;
    return this.#areFiguresOutdated ? { ...this.partialUsage, isOutputDoubtful: true } : this.partialUsage;
  }

  /** Text produced since the last call. */
  takeProduced(): string {
    this.readUnread();
    const produced = this.#produced;
    this.#produced = "";
    return produced;
  }

  get producedChars(): number {
    return this.#produced.length;
  }

  /**
   * Called when the provider's body has ended and nothing is held: the frames that the stream lacks for a proper end,
   * or null if it broke off.
   */
  missingTerminal(): string | null {
    return null;
  }

  /** Whether the answer is complete, although its stream has not ended. Only for dialects whose providers forget to end it. */
  isComplete(): boolean {
    return false;
  }

  /** Whether the last text is complete, and none has followed it: then only the end and the usage may be missing. May have to read a lot. */
  hasEndedText(): boolean {
    this.readUnread();
    return this.#hasEndedText;
  }

  get position(): ScanPosition {
    return { sequenceNumber: 0, responseId: null, hasBegun: this.started };
  }

  /** The index of the first mark, or `none`. It has to be inside the event that the mark belongs to. */
  protected firstMark(events: Buffer): number {
    let first = none;
    for (const mark of this.#marks) first = earlier(first, events.indexOf(mark));
    return first;
  }

  /** `json` is null if the event's data is not a JSON object. */
  protected abstract actionFor(event: RawEvent, json: JsonObject | null): EventAction;
  /** Whether the answer has been written to its end, so that figures are those of all of it. */
  protected abstract readonly hasFinished: boolean;
  /**
   * All text in an event that a provider bills as output, without what has come before. Null if the dialect has no such event, or
   * none with text: then it may be in the form of another.
   */
  protected abstract producedBy(event: JsonObject): string | null;
  /** The length of the reasoning in an event that only its provider can read. */
  protected abstract sealedIn(event: JsonObject): number;
  /** Whether an event that was read ends the text, or the whole answer. */
  protected abstract endsText(event: JsonObject): boolean;

  /** To be called for an event with figures that include the output up to it. */
  protected takeFigures(usage: ReportedUsage, { end }: RawEvent): void {
    this.partialUsage = runningTotal(this, usage);
    this.reportedOutput = this.partialUsage.outputTokens;
    this.#hasFigures = true;
    this.#figuresEnd = end;
    this.#areFiguresOutdated = false;
  }

  /** Usually nothing but the end of the stream follows them. */
  #lookBehindFigures(events: Uint8Array): void {
    for (const data of dataOfEvents(events)) {
      const event = meaningOf(data);
      if (event === undefined) continue;
      const text = event === null ? plainText(data) : this.#textIn(event);
      if (text !== "") this.#areFiguresOutdated = true;
    }
  }

  /** An event that may end the stream must not leave unread. */
  #actionFor(event: RawEvent): EventAction {
    const json = meaningOf(event.data);
    if (json !== undefined) return this.actionFor(event, json);
    this.failure = eventTooLarge();
    return "stop";
  }

  #sort(events: Buffer): Uint8Array {
    const kept: Uint8Array[] = [];
    let keptFrom = 0;
    for (let at = this.#nextMarked(events, 0); at < events.length; ) {
      const event = rawEvent(events, at);
      const action = this.#actionFor(event);
      if (action === "hold") this.held = events.subarray(event.start);
      if (action === "hold" || action === "stop") {
        this.#leavingEnd = event.start;
        break;
      }
      if (action === "drop") {
        if (event.start > keptFrom) kept.push(events.subarray(keptFrom, event.start));
        keptFrom = event.end;
      }
      at = this.#nextMarked(events, event.end);
    }
    const rest = events.subarray(keptFrom, this.#leavingEnd);
    if (rest.length > 0 || kept.length === 0) kept.push(rest);
    // A dropped event mostly comes right before the held one, so that there is one piece and nothing is copied.
    const first = kept[0];
    return kept.length === 1 && first !== undefined ? first : Buffer.concat(kept);
  }

  /**
   * The start of the next event with a mark, or the end. Most events have none, so they are not searched one by one: after
   * the first, each search covers as much again as was searched before. To search everything that follows would be
   * quadratic if every event has a mark.
   */
  #nextMarked(events: Buffer, from: number): number {
    for (let at = from, end = at; at < events.length; at = end) {
      end = eventEnd(events, at + (at - from));
      const mark = this.firstMark(events.subarray(at, end));
      if (mark !== none) return at + wholeEventsEnd(events.subarray(at, at + mark));
    }
    return events.length;
  }

  /** Parses events up to and including the first content; returns the index after it. */
  #readToContent(events: Uint8Array): number {
    let end = 0;
    while (end < events.length && !this.started) {
      const event = rawEvent(events, end);
      this.#readEvent(event.data);
      end = this.started ? event.end : startAfter(event, events);
    }
    return end;
  }

  /** Parses the events that were only forwarded so far. */
  protected readUnread(): void {
    for (const run of this.#unread.take()) for (const data of dataOfEvents(run)) this.#readEvent(data);
  }

  #readEvent(data: string): void {
    const event = meaningOf(data);
    if (event === null) this.#readPlain(data);
    else if (event !== undefined) this.#readJson(event);
  }

  /** Data that is no JSON. Beside an answer it is a part of it, but alone it is none. */
  #readPlain(data: string): string {
    const text = plainText(data);
    this.#produced += text;
    return text;
  }

  #textIn(event: JsonObject): string {
    return this.producedBy(event) ?? streamedText(event);
  }

  #readJson(event: JsonObject): string {
    const text = this.#textIn(event);
    const sealedChars = this.sealedIn(event);
    this.#produced += text;
    this.sealedChars += sealedChars;
    const isContent = text !== "" || sealedChars > 0;
    if (isContent) this.started = true;
    this.#hasEndedText = this.endsText(event) || (this.#hasEndedText && !isContent);
    return text;
  }
}

function plainText(data: string): string {
  return isDoneMark(data) ? "" : data;
}
