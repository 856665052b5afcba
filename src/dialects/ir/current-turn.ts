import type { IrMessage } from "./ir.ts";

/** What a message is to a turn. Instructions neither begin nor end one. */
export type TurnPart = "answer" | "results" | "text" | "instruction";

/**
 * The index at which the current turn begins: behind the last messages in which the user said something and returned no
 * results of tools. Everything between two answers is one turn: text after results does not begin another turn.
 * Vendors check thinking and signatures from there on.
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

/** The part of a turn that a message in the intermediate form is. */
export function turnPartOf({ role, blocks }: IrMessage): TurnPart {
  if (role === "assistant") return "answer";
  if (role === "system") return "instruction";
  return blocks.some(({ type }) => type === "tool_result") ? "results" : "text";
}
