import type { CompactionContext } from "../../dialects/openai-responses/client/compaction.ts";
import type { NamingField, TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";

/** What a model is given, as items. */
export interface Conversation {
  readonly items: readonly TurnItem[];
  /** How many of them were stored; the others the client has sent. */
  readonly stored: number;
  /** The member of the request that names where they were. */
  readonly naming: NamingField;
  /** False if the provider keeps more of it. */
  readonly isWhole: boolean;
}

/** How an error names one of its items. */
export function pathOfItem({ stored, naming }: Conversation, place: number): string {
  return place < stored ? naming : `input[${place - stored}]`;
}

/** A conversation that is being summarised, and how its summary is answered with. */
export interface Compaction {
  /** As the whole answer of the route that only compacts, or as a response whose output it is. */
  readonly form: "route" | "response";
  /** What is kept of the conversation in addition to its summary. */
  readonly kept: readonly TurnItem[];
  readonly context: CompactionContext;
  seal(summary: string): string;
}
