import { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { failedAnswer, malformedAnswer, reportedFailure } from "../../errors/failure.ts";
import type { IrResponse } from "../../ir/ir.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { readFinish, readItem, readTier } from "./items-in.ts";
import { figures } from "./usage-in.ts";

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
