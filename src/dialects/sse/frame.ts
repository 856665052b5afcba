import type { JsonObject } from "../../base/json.ts";

/** One server-sent event. `event` is "" if the frame has no such line; `data` has its lines joined. */
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
