import type { JsonObject } from "../../base/json.ts";

/** What a client may say about a web search. */
export interface IrWebSearch {
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
  /** Where to search from, in the form of Messages and Responses: `type`, `city`, `region`, `country`, `timezone`. */
  readonly location: JsonObject | null;
  /** What else it says, which only its own vendor knows, as it is named when it is dropped: `tools[].search_context_size`. */
  readonly others: readonly string[];
}
