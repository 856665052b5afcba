import type { JsonObject } from "../../../base/json.ts";
import { noUsage, totalInput, totalTokens, type Usage } from "../../../base/usage/usage.ts";
import type { WriterContext } from "../../contract/client-dialect.ts";
import type { IrResponse, IrToolCall } from "../../ir/ir.ts";
import { chatAnnotations } from "../../openai/citations.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { writeFinish } from "../finish.ts";
import { addSignature, signatureFor } from "../tool-call.ts";

export function writeResponse(response: IrResponse, call: WriterContext): JsonObject {
  return {
    id: call.mint("chatcmpl-"),
    object: "chat.completion",
    created: call.source.nowSeconds,
    model: call.source.model,
    choices: [
      {
        index: 0,
        message: writeMessage(response, call),
        logprobs: null,
        finish_reason: writeFinish(response.finish),
      },
    ],
    usage: writeUsage(response.usage),
    ...(response.serviceTier === null ? {} : { service_tier: response.serviceTier }),
  };
}

function writeMessage(response: IrResponse, clientCall: WriterContext): JsonObject {
  let text = "";
  let refusal = "";
  let reasoning = "";
  let signature: string | null = null;
  const annotations: JsonObject[] = [];
  const calls: JsonObject[] = [];
  for (const block of response.blocks) {
    if (block.type === "text") {
      const cited = { offset: text.length, length: block.text.length };
      annotations.push(...chatAnnotations(block.citations ?? [], cited));
      text += block.text;
    } else if (block.type === "refusal") refusal += block.text;
    else if (block.type === "reasoning") {
      reasoning += block.parts.join(partSeparator);
      signature = signatureFor(block.signature, clientCall) ?? signature;
    } else {
      calls.push(writeCall(block, block.input, signature));
      signature = null;
    }
  }
  const declined = refusal === "" ? response.finish.explanation : refusal;
  const isRefused = response.finish.reason === "refusal";
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || declined !== null || isRefused) ? null : text,
    refusal: declined,
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

export function writeCall(
  { id, kind, name }: Pick<IrToolCall, "id" | "kind" | "name">,
  input: string,
  signature: string | null,
): JsonObject {
  const written: JsonObject =
    kind === "custom"
      ? { id, type: "custom", custom: { name, input } }
      : { id, type: "function", function: { name, arguments: input } };
  if (signature !== null) addSignature(written, signature);
  return written;
}

/** Always complete: clients read the details without asking whether they are there. */
export function writeUsage(known: Usage | null): JsonObject {
  const usage = known ?? noUsage;
  return {
    prompt_tokens: totalInput(usage),
    completion_tokens: usage.outputTokens,
    total_tokens: totalTokens(usage),
    prompt_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
