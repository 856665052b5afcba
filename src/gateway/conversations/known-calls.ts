import { tableOf } from "../../base/collections/table.ts";
import { invalidRequest } from "../../base/errors.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";

/** The type of call that each output item belongs to. */
const answeredCalls = tableOf<string>({
  function_call_output: "function_call",
  custom_tool_call_output: "custom_tool_call",
});

/** The tool calls of a conversation and their outputs, in order. */
export class KnownCalls {
  /** Some servers restart the numbers of their calls in every turn, so an id is free again after its result. */
  readonly #counts = new Map<string, number>();

  constructor(items: readonly TurnItem[]) {
    for (const item of items) this.add(item);
  }

  add(item: TurnItem): void {
    const call = callOf(item);
    if (call === null) return;
    if (this.#counts.delete(`${item.type}_output ${item.callId}`)) this.#counts.delete(call);
    this.#counts.set(call, this.#countOf(call) + 1);
  }

  /** Whether the item repeats a known one. Calls of one turn may share an id, and then have as many outputs. */
  repeats(item: TurnItem): boolean {
    const known = this.#countOf(callOf(item));
    const answered = answeredCalls[item.type];
    return known > 0 && (answered === undefined || known >= this.#countOf(`${answered} ${item.callId}`));
  }

  /** Throws if no earlier call belongs to this output. */
  rejectOrphan({ type, callId }: TurnItem, path: string): void {
    const answered = answeredCalls[type];
    if (answered === undefined || this.#counts.has(`${answered} ${callId}`)) return;
    const message = `No tool call found for ${JSON.stringify(callId)}: the call must come before its output.`;
    throw invalidRequest(message, `${path}.call_id`);
  }

  #countOf(call: string | null): number {
    return call === null ? 0 : (this.#counts.get(call) ?? 0);
  }
}

/** Identifies a call, or the result of one. */
function callOf({ type, callId }: TurnItem): string | null {
  return callId === null ? null : `${type} ${callId}`;
}
