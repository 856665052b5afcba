import { isObject, type JsonObject } from "../../../base/json.ts";
import type { FinishReason, IrFinish, IrRefusal, IrText, IrToolCall } from "../../ir/ir.ts";
import { citing } from "../../ir/response-parts.ts";
import { listOf, nonEmpty, stringOf } from "../../json/json-fields.ts";
import { readCitations } from "../../openai/citations.ts";

export interface MessagePart {
  readonly at: number;
  readonly block: IrText | IrRefusal;
}

export function readMessageParts(item: JsonObject): MessagePart[] {
  return listOf(item["content"]).flatMap((part, at): MessagePart[] => {
    if (!isObject(part)) return [];
    if (typeof part["refusal"] === "string")
      return [{ at, block: { type: "refusal", text: part["refusal"] } }];
    if (typeof part["text"] !== "string") return [];
    const citations = readCitations(part["annotations"]);
    return [{ at, block: { type: "text", text: part["text"], ...citing(citations) } }];
  });
}

/** Null for an item that is not a call, or a call whose name is not known yet. */
export function readCall(item: JsonObject): IrToolCall | null {
  const { type, name, call_id: id } = item;
  if (type !== "function_call" && type !== "custom_tool_call") return null;
  if (typeof name !== "string" || name === "") return null;
  const custom = type === "custom_tool_call";
  return {
    type: "tool_call",
    id: stringOf(id) ?? "",
    kind: custom ? "custom" : "function",
    namespace: nonEmpty(item["namespace"]),
    name,
    input: stringOf(custom ? item["input"] : item["arguments"]) ?? "",
  };
}

type ResponseKinds = { readonly called: boolean; readonly refused: boolean };

/** OpenAI reports only `completed`, so the reason depends on the contents of the response. */
export function readFinish(response: JsonObject, kinds: ResponseKinds): IrFinish {
  return { reason: finishReason(response, kinds), stopSequence: null, explanation: null };
}

function finishReason(response: JsonObject, { called, refused }: ResponseKinds): FinishReason {
  if (response["status"] === "incomplete") {
    const details = response["incomplete_details"];
    const filtered = isObject(details) && details["reason"] === "content_filter";
    return filtered ? "refusal" : "length";
  }
  if (called) return "tool_calls";
  return refused ? "refusal" : "stop";
}

export function readTier(response: JsonObject): string | null {
  return stringOf(response["service_tier"]);
}
