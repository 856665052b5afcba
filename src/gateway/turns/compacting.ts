import type { CompactionContext } from "../../dialects/openai-responses/client/compaction.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";

/** A conversation that is being summarised, and how its summary is answered with. */
export interface Compaction {
  /** As the whole answer of the route that only compacts, or as a response whose output it is. */
  readonly form: "route" | "response";
  /** What is kept of the conversation beside its summary. */
  readonly kept: readonly TurnItem[];
  readonly context: CompactionContext;
  seal(summary: string): string;
}
