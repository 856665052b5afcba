import type { JsonObject } from "../../base/json.ts";
import type { ClientCall } from "../dialect.ts";
import type { IrAssistantBlock, IrReasoning, IrResponse, Seal } from "../ir/ir.ts";
import { carrySeal, partSeparator } from "../reasoning/reasoning-envelope.ts";
import { callInput } from "../tools/call-input.ts";
import { addFinish } from "./finish.ts";
import { writeUsage } from "./usage-out.ts";

export function writeResponse(response: IrResponse, call: ClientCall): JsonObject {
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
    case "refusal":
      return block.text === "" ? [] : [{ type: "text", text: block.text }];
    case "tool_call":
      return [{ type: "tool_use", id: block.id, name: block.name, input: callInput(block.input) }];
    case "reasoning":
      return writeReasoning(block);
  }
}

function writeReasoning({ parts, seal }: IrReasoning): JsonObject[] {
  if (seal?.maker === "anthropic-redacted") return [{ type: "redacted_thinking", data: seal.data }];
  const lengths = parts.map((part) => part.length);
  return [{ type: "thinking", thinking: parts.join(partSeparator), signature: signatureOf(seal, lengths) }];
}

/** Anthropic's own as it is; anybody else's seal in a carrier, which the client returns untouched. */
export function signatureOf(seal: Seal | null, partLengths: readonly number[]): string {
  if (seal === null) return "";
  return seal.maker === "anthropic" ? seal.signature : carrySeal(seal, partLengths);
}
