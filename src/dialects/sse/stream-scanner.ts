import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedExtras, ReportedUsage } from "../../base/usage/usage.ts";
import { eventTooLarge } from "../errors/failure.ts";
import type { EndedIds } from "../openai-responses/client/turn-items.ts";
import { streamedText } from "../produced.ts";
import { type ReportedSoFar, runningTotal } from "../usage/usage-figures.ts";
import { isDoneMark } from "./data-field.ts";
import { ProducedText } from "./produced-text.ts";
import { EventWalk, meaningOf, rawEvent } from "./raw-events.ts";
import type { ParsedEvent } from "./sse.ts";

const nothingIssued: readonly string[] = [];
const nothing = new Uint8Array(0);

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
 * Meters a passthrough stream without changing it: reads each event once, as it passes, decides which bytes are forwarded now
 * and which are held until the charge is committed, and knows what was produced if the stream breaks off.
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
  /** The length of all reasoning so far that only its provider can read, and of images. They are content, too. */
  sealedChars = 0;
  /** Ids in the stream so far that a later request may refer to. */
  issued: readonly string[] = nothingIssued;
  /** The ids in a response that the last event contains whole, so that it can be stored as it is. */
  endedIds: EndedIds | null = null;
  /** What the provider has reported besides its usage. */
  abstract readonly extras: ReportedExtras | null;
  readonly #walk = new EventWalk();
  readonly #produced = new ProducedText();
  #hasEndedText = false;
  /** Figures have come that include the output up to them. */
  #hasFigures = false;
  /** The event that is being read has brought them. */
  #areFiguresNew = false;
  /** Content arrived after the last figures, which therefore cannot include it. */
  #areFiguresOutdated = false;

  /** Takes whole events and returns those to forward now. What ends the stream is kept in `held`. */
  pass(events: Uint8Array): Uint8Array {
    let kept: Uint8Array[] | null = null;
    let keptFrom = 0;
    const walk = this.#walk.over(events);
    while (keptFrom < events.length && walk.next()) {
      const action = this.read(walk.data, meaningOf(walk.data));
      if (action === "forward") continue;
      const { start } = walk;
      kept ??= [];
      if (start > keptFrom) kept.push(events.subarray(keptFrom, start));
      keptFrom = action === "drop" ? walk.end : events.length;
      if (action === "hold") this.held = events.subarray(start);
    }
    if (kept === null) return events;
    if (keptFrom < events.length) kept.push(events.subarray(keptFrom));
    // A dropped event mostly comes right before the held one, so that there is one piece and nothing is copied.
    const [first = nothing] = kept;
    return kept.length > 1 ? Buffer.concat(kept) : first;
  }

  /** Passes one large event, which was parsed on the worker thread. */
  passLarge(event: Uint8Array, { json, isCut }: ParsedEvent): Uint8Array {
    const action =
      json === null && !isCut ? this.read(rawEvent(event, 0).data, null) : this.read("", json ?? undefined);
    if (action === "hold") this.held = event;
    return action === "forward" ? event : nothing;
  }

  /** Reads an event. `json` is null if its data is no JSON object, and undefined if that is too large to be read. */
  read(data: string, json: JsonObject | null | undefined): EventAction {
    // It may end the stream, so it must not leave unread.
    if (json === undefined) {
      this.failure = eventTooLarge();
      return "stop";
    }
    this.#areFiguresNew = false;
    const action = this.actionFor(json, data);
    if (action === "hold" || action === "stop") return action;
    const text = json === null ? this.#readPlain(data) : this.#readJson(json);
    if (text !== "" && !this.#areFiguresNew) this.#areFiguresOutdated = true;
    return action;
  }

  /**
   * The provider's usage for the whole response; null until it is reported. Usage reported mid-stream covers only a part. If
   * output followed the last report, the output count is marked as doubtful.
   */
  get usage(): ReportedUsage | null {
    if (this.partialUsage === null || !this.#hasFigures || !this.hasFinished) return null;
    return this.#areFiguresOutdated ? { ...this.partialUsage, isOutputDoubtful: true } : this.partialUsage;
  }

  /** Text produced since the last call. */
  takeProduced(): string {
    return this.#produced.take();
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

  /** Whether the last text is complete, and none has followed it: then only the end and the usage may be missing. */
  hasEndedText(): boolean {
    return this.#hasEndedText;
  }

  get position(): ScanPosition {
    return { sequenceNumber: 0, responseId: null, hasBegun: this.started };
  }

  /** What an event means to the stream. `json` is null if its data is not a JSON object. */
  protected abstract actionFor(json: JsonObject | null, data: string): EventAction;
  /** Whether the response is complete, so that the reported usage covers all of it. */
  protected abstract readonly hasFinished: boolean;
  /**
   * All text in an event that a provider bills as output, without what came before. Null if the dialect does not have this
   * event, or not with text: the event may then have another dialect's form.
   */
  protected abstract producedBy(event: JsonObject): string | null;
  /** The length of the reasoning in an event that only its provider can read, or what its images count for. */
  protected abstract sealedIn(event: JsonObject): number;
  /** Whether an event that was read ends the text, or the whole answer. */
  protected abstract endsText(event: JsonObject): boolean;

  /** To be called for an event with figures that include the output up to it, and its own. */
  protected takeFigures(usage: ReportedUsage): void {
    this.partialUsage = runningTotal(this, usage);
    this.reportedOutput = this.partialUsage.outputTokens;
    this.#hasFigures = true;
    this.#areFiguresNew = true;
    this.#areFiguresOutdated = false;
  }

  /** Data that is not JSON. It counts as output, but alone it does not make a response. */
  #readPlain(data: string): string {
    const text = isDoneMark(data) ? "" : data;
    this.#produced.add(text);
    return text;
  }

  #readJson(event: JsonObject): string {
    const text = this.producedBy(event) ?? streamedText(event);
    const sealedChars = this.sealedIn(event);
    this.#produced.add(text);
    this.sealedChars += sealedChars;
    const isContent = text !== "" || sealedChars > 0;
    if (isContent) this.started = true;
    this.#hasEndedText = this.endsText(event) || (this.#hasEndedText && !isContent);
    return text;
  }
}
