import type { JsonObject } from "../../base/json.ts";

/** A client's settings for a web search. */
export interface IrWebSearch {
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
  /** The location to search from, in the form of Messages and Responses: `type`, `city`, `region`, `country`, `timezone`. */
  readonly location: JsonObject | null;
  /** Other settings, which only one vendor supports, as named when they are dropped: `tools[].search_context_size`. */
  readonly others: readonly string[];
}
