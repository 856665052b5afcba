import type { JsonObject } from "../../../base/json.ts";
import type { ClientCall } from "../../client-dialect.ts";
import type { IrResponse, IrToolCall } from "../../ir/ir.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { writeFinish } from "../finish.ts";
import { writeUsage } from "./usage-out.ts";

export function writeResponse(response: IrResponse, call: ClientCall): JsonObject {
  return {
    id: call.mint("chatcmpl-"),
    object: "chat.completion",
    created: call.source.nowSeconds,
    model: call.source.model,
    choices: [
      {
        index: 0,
        message: writeMessage(response),
        logprobs: null,
        finish_reason: writeFinish(response.finish),
      },
    ],
    usage: writeUsage(response.usage),
    ...(response.serviceTier === null ? {} : { service_tier: response.serviceTier }),
  };
}

function writeMessage(response: IrResponse): JsonObject {
  let text = "";
  let refusal = "";
  let reasoning = "";
  const calls: JsonObject[] = [];
  for (const block of response.blocks) {
    if (block.type === "text") text += block.text;
    else if (block.type === "refusal") refusal += block.text;
    else if (block.type === "reasoning") reasoning += block.parts.join(partSeparator);
    else calls.push(writeCall(block));
  }
  const declined = refusal === "" ? response.finish.explanation : refusal;
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || declined !== null || isRefused(response)) ? null : text,
    refusal: declined,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function isRefused(response: IrResponse): boolean {
  return response.finish.reason === "refusal";
}

function writeCall(call: IrToolCall): JsonObject {
  if (call.kind === "custom") {
    return { id: call.id, type: "custom", custom: { name: call.name, input: call.input } };
  }
  return { id: call.id, type: "function", function: { name: call.name, arguments: call.input } };
}
