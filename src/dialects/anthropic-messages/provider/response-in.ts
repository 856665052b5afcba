import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { malformedAnswer, reportedFailure } from "../../errors/failure.ts";
import { citing, functionCall, unsaidFinish } from "../../ir/answer-parts.ts";
import type { IrAssistantBlock, IrResponse } from "../../ir/ir.ts";
import { isZero, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readCitations } from "../citations.ts";
import { readFinish } from "../finish.ts";
import { figures, readUsage } from "./usage-in.ts";

export function readResponse(body: JsonObject): IrResponse {
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  if (!Array.isArray(body["content"])) throw malformedAnswer("a message without content");
  const blocks = objectsOf(body["content"]).flatMap(readBlock);
  const finish = readFinish(body) ?? (blocks.length > 0 ? unsaidFinish : null);
  if (finish === null) throw malformedAnswer("an empty message without a stop_reason");
  return {
    blocks,
    finish,
    usage: readUsage(body["usage"]),
    serviceTier: readTier(body),
  };
}

export function failureIn(body: JsonObject): GatewayError | null {
  const hasFailed = body["type"] === "error" || (isObject(body["error"]) && !isZero(body["error"]));
  return hasFailed ? reportedFailure(body, figures) : null;
}

/** Blocks of hosted tools are skipped: clients of other dialects cannot request them. */
function readBlock(block: JsonObject): IrAssistantBlock[] {
  switch (block["type"]) {
    case "text":
      return [
        { type: "text", text: stringOf(block["text"]) ?? "", ...citing(readCitations(block["citations"])) },
      ];
    case "thinking":
      return [
        {
          type: "reasoning",
          parts: [stringOf(block["thinking"]) ?? ""],
          signature: { maker: "anthropic", signature: stringOf(block["signature"]) ?? "" },
        },
      ];
    case "redacted_thinking": {
      const data = stringOf(block["data"]) ?? "";
      return [{ type: "reasoning", parts: [], signature: { maker: "anthropic-redacted", data } }];
    }
    case "tool_use":
      return [
        {
          ...functionCall(block["id"], block["name"]),
          input: JSON.stringify(objectOf(block["input"]) ?? {}),
        },
      ];
    default:
      return [];
  }
}

function readTier(body: JsonObject): string | null {
  const tier = stringOf(objectOf(body["usage"])?.["service_tier"]);
  return tier === "standard" ? "default" : tier;
}
