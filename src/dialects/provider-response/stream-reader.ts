import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedExtras, ReportedUsage } from "../../base/usage/usage.ts";
import { eventTooLarge, malformedResponse } from "../errors/failure.ts";
import type { IrEvent } from "../ir/ir.ts";
import { isDoneMark, parseEvent } from "../sse/event.ts";
import type { SseFrame } from "../sse/sse.ts";

/**
 * A reader's findings in a provider's stream: the events of the response, which are translated, and what has to be
 * charged, remembered or decided, whether or not the stream is translated.
 */
export type ReadEvent =
  | IrEvent
  /**
   * All text that the model wrote in one of the provider's events, whether or not it is in a block of the response.
   * `encryptedChars`: the length of reasoning that only the provider can read, and the length that stands for images.
   */
  | { readonly type: "written"; readonly text: string; readonly encryptedChars: number }
  /** The last text is complete. `isLast`: the response is complete too, and only its usage and its end can follow. */
  | { readonly type: "text_end"; readonly isLast: boolean }
  /** Tiers, calls of hosted tools and audio. Each replaces the one before. */
  | { readonly type: "extras"; readonly extras: ReportedExtras }
  /** Ids that a later request can refer to: all so far. `ended`: the ids in a response that this event contains whole. */
  | { readonly type: "issued"; readonly ids: readonly string[]; readonly ended?: EndedIds | null }
  /** The usage so far, or in total, of a stream that is not charged by running totals. */
  | {
      readonly type: "cost";
      readonly usage: ReportedUsage | null;
      readonly extras: ReportedExtras;
      readonly isFinal: boolean;
    }
  /** The provider reports that the response has failed. Nothing after it counts. */
  | { readonly type: "failure"; readonly failure: GatewayError }
  /**
   * The response cannot be translated. A client of the same dialect gets the event unchanged. `text`: data that is not
   * JSON.
   */
  | { readonly type: "unreadable"; readonly error: GatewayError; readonly text: string }
  /** The stream has ended properly. */
  | { readonly type: "end" };

/** The ids in an ended response. */
export interface EndedIds {
  readonly id: string;
  /** The ids of its items, as far as they have one. */
  readonly items: readonly string[];
}

/**
 * Passes on the events of the response. After the events before a failure, throws the reason why it failed or cannot be
 * translated.
 */
export function passAnswer(events: readonly ReadEvent[], pass: (event: IrEvent) => void): void {
  for (const event of events) {
    switch (event.type) {
      case "failure":
        throw event.failure;
      case "unreadable":
        throw event.error;
      case "written":
      case "text_end":
      case "extras":
      case "issued":
      case "cost":
      case "end":
        break;
      default:
        pass(event);
    }
  }
}

const nothing: readonly ReadEvent[] = [];

/**
 * The one reader of a provider's stream, whether it passes through or is translated: each event is parsed once, and
 * everything else follows from its `ReadEvent`s. A reader knows what can be ignored: unknown events and fields, missing
 * or repeated parts, other dialects' forms. An event that a translation needs and cannot read is reported as
 * `unreadable`, and reading continues.
 */
export abstract class StreamReader {
  /** The blocks of the response are read only for a translation; what it costs never depends on them. */
  protected readonly isTranslated: boolean;
  #events: ReadEvent[] = [];
  /** Ended normally, or with a failure. */
  #hasEnded = false;
  /** The bytes that end a stream properly after a complete response; null if the provider has to send them itself. */
  readonly missingEnd: string | null = null;

  /** The end of the body ends the stream: the response is complete with its last text, and more events may follow. */
  readonly endsWithBody: boolean = false;

  constructor(isTranslated: boolean) {
    this.isTranslated = isTranslated;
  }

  /** Reads the next event. Events after the end are ignored. */
  read(frame: SseFrame): readonly ReadEvent[] {
    return this.#hasEnded ? nothing : this.#found(frame);
  }

  /** Called at the end of the provider's body, unless the stream has ended before. */
  end(): readonly ReadEvent[] {
    return this.#hasEnded ? nothing : this.#found(null);
  }

  /** The next number of a stream whose events are numbered, and the response's id. */
  get position(): { readonly sequenceNumber: number; readonly responseId: string | null } {
    return { sequenceNumber: 0, responseId: null };
  }

  /**
   * Reads a JSON object. `isCut`: null is in the place of its largest parts. Throws if it cannot be translated, after
   * everything else has been read.
   */
  protected abstract readEvent(event: JsonObject, name: string, isCut: boolean): void;

  /** The name of an event in error messages. */
  protected readonly eventName: string = "an event";
  /** No event can be translated without its largest parts. */
  protected readonly needsWhole: boolean = true;

  /** The body has ended. Throws if the stream is not complete. */
  protected abstract readEnd(): void;

  /** `[DONE]`, which ends OpenAI's streams; in others it is ignored. */
  protected readDone(): void {}

  protected readonly emit = (event: ReadEvent): void => {
    if (event.type === "end" || event.type === "failure") this.#hasEnded = true;
    this.#events.push(event);
  };

  protected emitWritten(text: string, encryptedChars: number): void {
    if (text !== "" || encryptedChars > 0) this.emit({ type: "written", text, encryptedChars });
  }

  /** Null stands for the end of the body. */
  #found(frame: SseFrame | null): readonly ReadEvent[] {
    try {
      if (frame === null) this.readEnd();
      else this.#readFrame(frame);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.emit({ type: "unreadable", error, text: "" });
    }
    // Not kept here: a stream that waits would keep the text of its last event.
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #readFrame({ event: name, data, parsed }: SseFrame): void {
    if (isDoneMark(data)) {
      this.readDone();
      return;
    }
    const { json, isCut } = parsed ?? parseEvent(data);
    if (json !== null) {
      if (isCut && this.needsWhole) this.emit({ type: "unreadable", error: eventTooLarge(), text: "" });
      this.readEvent(json, name, isCut);
    }
    // It may end the stream, so it must not leave unread.
    else if (isCut) this.emit({ type: "failure", failure: eventTooLarge() });
    else
      this.emit({
        type: "unreadable",
        error: malformedResponse(`${this.eventName} that is not a JSON object`),
        text: data,
      });
  }
}
