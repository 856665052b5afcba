import type { JsonObject } from "../../../base/json.ts";
import { noUsage, type Usage } from "../../../base/usage/usage.ts";
import type { WriterContext } from "../../contract/client-dialect.ts";
import type { IrAssistantBlock, IrReasoning, IrResponse, IrText, ReasoningSignature } from "../../ir/ir.ts";
import { partSeparator, wrapSignature } from "../../reasoning/reasoning-envelope.ts";
import { callInput } from "../../tools/call-input.ts";
import { writeCitation } from "../citations.ts";
import { addFinish } from "../finish.ts";

export function writeResponse(response: IrResponse, call: WriterContext): JsonObject {
  const message: JsonObject = {
    id: call.mint("msg_"),
    type: "message",
    role: "assistant",
    model: call.source.model,
    content: response.blocks.flatMap(writeBlock),
  };
  addFinish(message, response.finish);
  message["usage"] = writeUsage(response.usage, response.serviceTier);
  return message;
}

function writeBlock(block: IrAssistantBlock): JsonObject[] {
  switch (block.type) {
    case "text":
      return writeText(block);
    case "refusal":
      return writeText({ type: "text", text: block.text });
    case "tool_call":
      return [{ type: "tool_use", id: block.id, name: block.name, input: callInput(block.input) }];
    case "reasoning":
      return writeReasoning(block);
  }
}

function writeText({ text, citations }: IrText): JsonObject[] {
  if (text === "") return [];
  const cited = citations === undefined ? {} : { citations: citations.map(writeCitation) };
  return [{ type: "text", text, ...cited }];
}

function writeReasoning({ parts, signature }: IrReasoning): JsonObject[] {
  if (signature?.maker === "anthropic-redacted") return [{ type: "redacted_thinking", data: signature.data }];
  const lengths = parts.map((part) => part.length);
  return [
    { type: "thinking", thinking: parts.join(partSeparator), signature: signatureOf(signature, lengths) },
  ];
}

/** Anthropic's own signature, or another provider's signature in an envelope, which the client returns unchanged. */
export function signatureOf(signature: ReasoningSignature | null, partLengths: readonly number[]): string {
  if (signature === null) return "";
  return signature.maker === "anthropic" ? signature.signature : wrapSignature(signature, partLengths);
}

/** Never absent: the official SDK reads these without a check. The tier has OpenAI's name. */
export function writeUsage(known: Usage | null, tier: string | null): JsonObject {
  const usage = known ?? noUsage;
  const written: JsonObject = {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
  };
  if (usage.reasoningTokens > 0) {
    written["output_tokens_details"] = { thinking_tokens: usage.reasoningTokens };
  }
  if (tier !== null) written["service_tier"] = tier === "default" ? "standard" : tier;
  return written;
}
