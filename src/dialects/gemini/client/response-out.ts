import type { JsonObject } from "../../../base/json.ts";
import { fieldOf } from "../../../base/proto-json.ts";
import { noUsage, totalInput, totalTokens, type Usage } from "../../../base/usage/usage.ts";
import type { WriterContext } from "../../contract/client-dialect.ts";
import { malformedResponse } from "../../errors/failure.ts";
import type { FinishReason, IrFinish, IrResponse } from "../../ir/ir.ts";
import { objectOf, parseObject } from "../../json/json-fields.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { Grounding } from "./citations-out.ts";
import { SignedReasoning } from "./signature.ts";

/** Clients get thoughts only if they ask for them. */
export function showsThoughts({ source: { body } }: WriterContext): boolean {
  const config = objectOf(fieldOf(body, "generationConfig")) ?? {};
  const thinking = objectOf(fieldOf(config, "thinkingConfig")) ?? {};
  return fieldOf(thinking, "includeThoughts") === true;
}

export function writeResponse(response: IrResponse, call: WriterContext): JsonObject {
  const grounding = new Grounding();
  const parts = writeParts(response, call, grounding);
  return {
    candidates: [{ ...writeCandidate(parts, response.finish), ...grounding.write() }],
    usageMetadata: writeUsage(response.usage),
    ...identityOf(call),
  };
}

/** Members of every response and chunk. */
export function identityOf({ source, mint }: WriterContext): JsonObject {
  return { modelVersion: source.model, responseId: mint("resp_") };
}

/** The signature of reasoning goes with the first call of a step, or with the last text without one. */
function writeParts({ blocks }: IrResponse, call: WriterContext, grounding: Grounding): JsonObject[] {
  const visible = showsThoughts(call);
  const signed = new SignedReasoning(call);
  const parts: JsonObject[] = [];
  for (const block of blocks) {
    if (block.type === "reasoning") {
      const text = block.parts.join(partSeparator);
      if (visible && text !== "") parts.push({ text, thought: true });
      signed.add(block.signature, block.parts);
    } else if (block.type === "tool_call") {
      parts.push(writeCall(block.name, block.id, block.input, signed.take()));
    } else if (block.text !== "") {
      parts.push({ text: block.text });
      grounding.add(block.text, block.type === "text" ? block.citations : []);
    }
  }
  return withSignature(parts, signed.take());
}

function withSignature(parts: JsonObject[], signature: string | null): JsonObject[] {
  if (signature === null) return parts;
  const last = parts.findLastIndex(({ text, thought }) => text !== undefined && thought !== true);
  const { [last]: text } = parts;
  if (text === undefined) return [...parts, signedText(signature)];
  return parts.with(last, { ...text, thoughtSignature: signature });
}

/** A part that has nothing but a signature. */
export function signedText(signature: string): JsonObject {
  return { text: "", thoughtSignature: signature };
}

export function writeCall(name: string, id: string, input: string, signature: string | null): JsonObject {
  const args = input.trim() === "" ? {} : parseObject(input);
  if (args === null) throw malformedResponse("a function call whose arguments are not an object");
  return { functionCall: { id, name, args }, ...(signature === null ? {} : { thoughtSignature: signature }) };
}

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  stop_sequence: "STOP",
  tool_calls: "STOP",
  pause: "STOP",
  length: "MAX_TOKENS",
  context_window: "MAX_TOKENS",
  refusal: "SAFETY",
};

/** Without a part, Google's own packages take a chunk as invalid, and forget the whole answer in the history of a chat. */
const nothing: readonly JsonObject[] = [{ text: "" }];

export function writeCandidate(parts: readonly JsonObject[], finish: IrFinish | null): JsonObject {
  return {
    content: { parts: [...(parts.length === 0 ? nothing : parts)], role: "model" },
    ...(finish === null ? {} : { finishReason: reasons[finish.reason] }),
    ...(finish === null || finish.explanation === null ? {} : { finishMessage: finish.explanation }),
    index: 0,
  };
}

/** Numbers of 0 are left out, but for the prompt's and the sum. */
export function writeUsage(known: Usage | null): JsonObject {
  const usage = known ?? noUsage;
  const counts = {
    cachedContentTokenCount: usage.cachedInputTokens,
    candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
    thoughtsTokenCount: usage.reasoningTokens,
  };
  return {
    promptTokenCount: totalInput(usage),
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    totalTokenCount: totalTokens(usage),
  };
}
