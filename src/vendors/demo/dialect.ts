import type { JsonObject } from "../../base/json.ts";
import type { DemoAnswer } from "./answer.ts";
import type { DemoRefusal, DemoRequest } from "./request.ts";

/** One frame of a stream. Frames with content are paced, the others are sent at once. */
export interface PacedFrame {
  readonly frame: string;
  readonly content: boolean;
}

/** How one wire format is read and written. */
export interface DemoDialect {
  read(body: JsonObject): DemoRequest;
  whole(answer: DemoAnswer): JsonObject;
  stream(answer: DemoAnswer): Generator<PacedFrame>;
  error(status: number, message: string, refusal?: DemoRefusal): JsonObject;
  /** The in-stream form of an error. */
  errorFrame(message: string): string;
}

export function framing(frame: string): PacedFrame {
  return { frame, content: false };
}

export function content(frame: string): PacedFrame {
  return { frame, content: true };
}

/** Named after the data's own type, as Responses and Messages do. */
export function eventFrame(data: JsonObject & { type: string }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
