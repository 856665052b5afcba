import { tableOf } from "../../base/collections/table.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { ProviderDialectName } from "../../dialects/registry.ts";
import { ChatJoiner } from "./chat.ts";
import { ConverseJoiner } from "./converse.ts";
import { GeminiJoiner } from "./gemini.ts";
import { MessagesJoiner } from "./messages.ts";
import { MeteredJoiner } from "./metered.ts";
import { ResponsesJoiner } from "./responses.ts";

/** Joins the events of a stream into the response that the same request would have got without `stream`. */
export interface StreamJoiner {
  /** `name` is the event's type in its frame; "" if it has none. */
  add(event: JsonObject, name: string): void;
  /** The events received so far, joined; null if there are none. */
  joined(): Json;
}

/** One for each dialect of providers that is part of Sluice. A dialect that is added can do without. */
const joiners = tableOf<new () => StreamJoiner>({
  chat: ChatJoiner,
  messages: MessagesJoiner,
  responses: ResponsesJoiner,
  gemini: GeminiJoiner,
  converse: ConverseJoiner,
} satisfies Partial<Record<ProviderDialectName, unknown>>);

/** The joiner for a dialect. Events of any other format are joined by their own types. */
export function joinerOf(format: string): StreamJoiner {
  return new (joiners[format] ?? MeteredJoiner)();
}
