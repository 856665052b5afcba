import { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { failedAnswer, malformedAnswer, reportedFailure } from "../../errors/failure.ts";
import { citing } from "../../ir/answer-parts.ts";
import type {
  FinishReason,
  IrAssistantBlock,
  IrFinish,
  IrRefusal,
  IrResponse,
  IrText,
  IrToolCall,
} from "../../ir/ir.ts";
import { listOf, nonEmpty, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readCitations } from "../../openai/citations.ts";
import { readReasoning } from "../reasoning.ts";
import { figures } from "./usage-in.ts";

/** The blocks of an output item. Calls of hosted tools give none. */
function readItem(item: JsonObject): IrAssistantBlock[] {
  switch (item["type"]) {
    case "message":
      return readMessageParts(item).map(({ block }) => block);
    case "reasoning":
      return readReasoning(item);
    default: {
      const call = readCall(item);
      return call === null ? [] : [call];
    }
  }
}

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

type AnswerKinds = { readonly called: boolean; readonly refused: boolean };

/** OpenAI only reports `completed`, so the reason depends on what the answer contains. */
export function readFinish(response: JsonObject, kinds: AnswerKinds): IrFinish {
  return { reason: finishReason(response, kinds), stopSequence: null, explanation: null };
}

function finishReason(response: JsonObject, { called, refused }: AnswerKinds): FinishReason {
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

export function readResponse(body: JsonObject): IrResponse {
  const { status, output } = body;
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  if (!Array.isArray(output)) throw malformedAnswer("a response without output");
  if (status === "queued" || status === "in_progress")
    throw malformedAnswer("a response that is not finished");
  const blocks = objectsOf(output).flatMap(readItem);
  const finish = readFinish(body, {
    called: blocks.some((block) => block.type === "tool_call"),
    refused: blocks.some((block) => block.type === "refusal"),
  });
  return { blocks, finish, usage: figures.usageIn(body), serviceTier: readTier(body) };
}

export function failureIn(body: JsonObject): GatewayError | null {
  const { status, error } = body;
  if (isObject(error)) return reportedFailure(body, figures);
  if (status !== "failed" && status !== "cancelled") return null;
  const failure = new GatewayError(
    "upstream_error",
    `The response ${status === "failed" ? "failed" : "was cancelled"}.`,
  );
  return failedAnswer(failure, figures.usageIn(body), figures.readExtras(body));
}
