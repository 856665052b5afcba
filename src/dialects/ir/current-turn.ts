import type { IrMessage } from "./ir.ts";

/** The role of a message within a turn. Instructions neither start nor end a turn. */
export type TurnPart = "answer" | "results" | "text" | "instruction";

/**
 * The index at which the current turn starts: after the last user messages with text and without tool results. Text
 * after tool results does not start another turn. Vendors check thinking and signatures from this index on.
 */
export function currentTurnStart<Message>(
  messages: readonly Message[],
  partOf: (message: Message) => TurnPart,
): number {
  let start = 0;
  let hasText = false;
  let hasResults = false;
  for (let index = 0; index <= messages.length; index += 1) {
    const message = messages[index];
    const part = message === undefined ? "answer" : partOf(message);
    if (part === "text") hasText = true;
    if (part === "results") hasResults = true;
    if (part !== "answer") continue;
    if (hasText && !hasResults) start = index;
    hasText = false;
    hasResults = false;
  }
  return start;
}

/** The role of a message in the intermediate form. */
export function turnPartOf({ role, blocks }: IrMessage): TurnPart {
  if (role === "assistant") return "answer";
  if (role === "system") return "instruction";
  return blocks.some(({ type }) => type === "tool_result") ? "results" : "text";
}
