import { isObject, type JsonObject } from "../../../base/json.ts";
import { malformedAnswer, reportedFailure } from "../../errors/failure.ts";
import type { IrResponse } from "../../ir/ir.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { readFinish, readItem, readTier } from "./items-in.ts";
import { readUsage } from "./usage-in.ts";

export function readResponse(body: JsonObject): IrResponse {
  if (isObject(body["error"])) throw reportedFailure(body);
  const { status, output } = body;
  if (status === "failed" || status === "cancelled")
    throw reportedFailure({ message: `The response ${status}.` });
  if (!Array.isArray(output)) throw malformedAnswer("a response without output");
  if (status === "queued" || status === "in_progress")
    throw malformedAnswer("a response that is not finished");
  const blocks = objectsOf(output).flatMap(readItem);
  const finish = readFinish(body, {
    called: blocks.some((block) => block.type === "tool_call"),
    refused: blocks.some((block) => block.type === "refusal"),
  });
  return { blocks, finish, usage: readUsage(body["usage"]), serviceTier: readTier(body) };
}
