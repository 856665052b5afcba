import { isObject, type JsonObject } from "../../../base/json.ts";
import { FailedAnswer, malformedAnswer, reportedFailure } from "../../errors/failure.ts";
import type { IrResponse } from "../../ir/ir.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { readFinish, readItem, readTier } from "./items-in.ts";
import { readUsage } from "./usage-in.ts";

export function readResponse(body: JsonObject): IrResponse {
  const { status, output, error } = body;
  const usage = readUsage(body["usage"]);
  if (isObject(error)) throw FailedAnswer.of(reportedFailure(body), usage);
  if (status === "failed" || status === "cancelled")
    throw new FailedAnswer(
      status === "failed" ? "The response failed." : "The response was cancelled.",
      usage,
    );
  if (!Array.isArray(output)) throw malformedAnswer("a response without output");
  if (status === "queued" || status === "in_progress")
    throw malformedAnswer("a response that is not finished");
  const blocks = objectsOf(output).flatMap(readItem);
  const finish = readFinish(body, {
    called: blocks.some((block) => block.type === "tool_call"),
    refused: blocks.some((block) => block.type === "refusal"),
  });
  return { blocks, finish, usage, serviceTier: readTier(body) };
}
