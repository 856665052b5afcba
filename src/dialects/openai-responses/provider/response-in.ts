import { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { failedResponse, malformedResponse, reportedFailure } from "../../errors/failure.ts";
import type { IrEvent } from "../../ir/ir.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { withUsage } from "../../provider-response/read-whole.ts";
import { Blocks, IncomingItem, readFinish, readTier } from "./stream-items-in.ts";
import { usageReader } from "./usage-in.ts";

/** Reads each item separately, like a stream's final item: some servers give all of them the same id. */
export function readResponse(body: JsonObject): readonly IrEvent[] {
  const { status, output } = body;
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  if (!Array.isArray(output)) throw malformedResponse("a response without output");
  if (status === "queued" || status === "in_progress") throw malformedResponse("an unfinished response");
  const events: IrEvent[] = [{ type: "start", usage: null }];
  const blocks = new Blocks((event) => events.push(event));
  for (const item of objectsOf(output)) new IncomingItem(blocks).finish(item);
  const tier = readTier(body);
  if (tier !== null) events.push({ type: "service_tier", tier });
  return withUsage(
    [...events, { type: "finish", finish: readFinish(body, blocks) }],
    usageReader.usageIn(body),
  );
}

export function failureIn(body: JsonObject): GatewayError | null {
  const { status, error } = body;
  if (isObject(error)) return reportedFailure(body, usageReader);
  if (status !== "failed" && status !== "cancelled") return null;
  const failure = new GatewayError(
    "upstream_error",
    `The response ${status === "failed" ? "failed" : "was cancelled"}.`,
  );
  return failedResponse(failure, usageReader.usageIn(body), usageReader.readExtras(body));
}
