import type { CompactionContext } from "../../dialects/openai-responses/client/compaction.ts";
import type { NamingField, TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";

/** The model's input, as items. */
export interface Conversation {
  readonly items: readonly TurnItem[];
  /** Number of stored items; the client sent the others. */
  readonly stored: number;
  /** The member of the request that names where they were. */
  readonly naming: NamingField;
  /** False if the provider keeps more of it. */
  readonly isWhole: boolean;
}

/** The path of an item in error messages. */
export function pathOfItem({ stored, naming }: Conversation, place: number): string {
  return place < stored ? naming : `input[${place - stored}]`;
}

/** A conversation that is being summarized, and the form of the response with its summary. */
export interface Compaction {
  /** `route`: the whole response of the route that only compacts. `response`: a response with it as its output. */
  readonly form: "route" | "response";
  /** Items of the conversation that are kept in addition to its summary. */
  readonly kept: readonly TurnItem[];
  readonly context: CompactionContext;
  seal(summary: string): string;
}
