import type { IrMessage } from "./ir.ts";

/** What a message is to a turn. Instructions neither begin nor end one. */
export type TurnPart = "answer" | "results" | "words" | "instruction";

/**
 * The index at which the current turn begins: behind the last messages in which the user said something and returned no
 * results of tools. All that is said between two answers is one: words behind results do not begin another turn.
 * Vendors check thinking and signatures from there on.
 */
export function currentTurnStart<Message>(
  messages: readonly Message[],
  partOf: (message: Message) => TurnPart,
): number {
  let start = 0;
  let hasWords = false;
  let hasResults = false;
  for (let index = 0; index <= messages.length; index += 1) {
    const message = messages[index];
    const part = message === undefined ? "answer" : partOf(message);
    if (part === "words") hasWords = true;
    if (part === "results") hasResults = true;
    if (part !== "answer") continue;
    if (hasWords && !hasResults) start = index;
    hasWords = false;
    hasResults = false;
  }
  return start;
}

/** The part of a turn that a message in the intermediate form is. */
export function turnPartOf({ role, blocks }: IrMessage): TurnPart {
  if (role === "assistant") return "answer";
  if (role === "system") return "instruction";
  return blocks.some(({ type }) => type === "tool_result") ? "results" : "words";
}
