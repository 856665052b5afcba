import type { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras, ReportedUsage } from "../../base/usage/usage.ts";

import type { IrEvent } from "../ir/ir.ts";

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
 * The events of the response. After the events before a failure have been consumed, throws the reason why it failed or
 * cannot be translated.
 */
export function* answerIn(events: readonly ReadEvent[]): Generator<IrEvent> {
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
        yield event;
    }
  }
}
