import { clientDialect } from "../../dialects/registry.ts";
import { asksForCompaction } from "../charge/requested-extras.ts";
import type { RoutedCall } from "../request/route.ts";

/**
 * Whether a request continues what was made by one model and may be of no use to another: a stored response or conversation, items by
 * reference, a compacted conversation, or reasoning that only its provider can read.
 */
export function continuesState({ exchange, request, turn, dialect }: RoutedCall): boolean {
  const { truncated, mentions } = request;
  if (exchange.sentPaths !== null || turn.compaction !== null || turn.isCompactedUpstream) return true;
  if (mentions.references.some(({ kind }) => kind === "conversation" || kind === "item")) return true;
  if (asksForCompaction(truncated)) return true;
  const { holdsState, stripSignedReasoning: strip } = clientDialect(dialect);
  return holdsState(truncated) || (strip !== null && strip(truncated) !== truncated);
}
