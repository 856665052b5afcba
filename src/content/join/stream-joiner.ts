import type { Json, JsonObject } from "../../base/json.ts";
import { ChatJoiner } from "./chat.ts";
import { MessagesJoiner } from "./messages.ts";
import { MeteredJoiner } from "./metered.ts";
import type { AppendedText } from "./repeated-event.ts";
import { ResponsesJoiner } from "./responses.ts";

/** Joins the events of a stream into the response that the same request would have got without `stream`. */
export interface StreamJoiner {
  add(event: JsonObject): void;
  /** What the last event has done, if that is to append one text and nothing else that counts twice. */
  readonly appended: AppendedText | null;
  /** As far as it came; null if nothing did. */
  joined(): Json;
}

/** By the name of a dialect; events of any other format are kept by what they say of themselves. */
export function joinerOf(format: string): StreamJoiner {
  if (format === "chat") return new ChatJoiner();
  if (format === "messages") return new MessagesJoiner();
  return format === "responses" ? new ResponsesJoiner() : new MeteredJoiner();
}
