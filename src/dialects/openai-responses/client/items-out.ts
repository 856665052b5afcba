import type { JsonObject } from "../../../base/json.ts";
import type { FinishReason, IrCitation, ReasoningSignature, ToolKind, ToolRef } from "../../ir/ir.ts";
import { parseObject } from "../../json/json-fields.ts";
import { responsesAnnotations } from "../../openai/citations.ts";
import { wrapReasoning } from "../../reasoning/reasoning-envelope.ts";
import { summaryPart } from "../reasoning.ts";

/** Writes the items of a response, for streams and whole bodies alike. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

export type AnswerPart =
  | { readonly type: "text"; readonly text: string; readonly citations?: readonly IrCitation[] }
  | { readonly type: "refusal"; readonly text: string };

export interface CallHead extends ToolRef {
  readonly id: string;
  readonly kind: ToolKind;
}

/** OpenAI's reason why a response is incomplete; null if it is complete. */
export function incompleteReason(reason: FinishReason): string | null {
  if (reason === "length" || reason === "context_window") return "max_output_tokens";
  return reason === "refusal" ? "content_filter" : null;
}

export function messageItem(id: string, status: ItemStatus, parts: readonly AnswerPart[]): JsonObject {
  return { id, type: "message", status, role: "assistant", content: parts.map((part) => answerPart(part)) };
}

/** A part, with `text` in place of its own text. */
export function answerPart(part: AnswerPart, text = part.text): JsonObject {
  if (part.type === "refusal") return { type: "refusal", refusal: text };
  const annotations = responsesAnnotations(part.citations ?? [], part.text.length);
  return { type: "output_text", text, annotations, logprobs: [] };
}

/** Has no status, because OpenAI rejects one when the item is replayed. The envelope contains the exact parts. */
export function reasoningItem(
  id: string,
  parts: readonly string[],
  signature: ReasoningSignature | null,
): JsonObject {
  const shown = parts.filter((part) => part !== "");
  const item: JsonObject = { id, type: "reasoning", summary: shown.map(summaryPart) };
  if (signature !== null) item["encrypted_content"] = wrapReasoning(signature, parts);
  return item;
}

const itemPrefixes: Readonly<Record<ToolKind, string>> = {
  function: "fc_",
  custom: "ctc_",
  tool_search: "tsc_",
};

export function callItemPrefix(kind: ToolKind): string {
  return itemPrefixes[kind];
}

export function callItem(id: string, status: ItemStatus, call: CallHead, input: string): JsonObject {
  const address: JsonObject = {
    name: call.name,
    ...(call.namespace === null ? {} : { namespace: call.namespace }),
  };
  switch (call.kind) {
    case "function":
      return { id, type: "function_call", status, call_id: call.id, ...address, arguments: input };
    case "custom":
      // The AI SDK accepts no other final status here, although the input may be incomplete.
      return {
        id,
        type: "custom_tool_call",
        status: status === "incomplete" ? "completed" : status,
        call_id: call.id,
        ...address,
        input,
      };
    case "tool_search":
      return {
        id,
        type: "tool_search_call",
        status,
        call_id: call.id,
        execution: "client",
        arguments: parseObject(input) ?? {},
      };
  }
}

/** A function without arguments is called with an empty object. */
export function completeInput(kind: ToolKind, input: string): string {
  return kind === "function" && input.trim() === "" ? "{}" : input;
}
