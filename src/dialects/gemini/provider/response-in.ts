import type { JsonObject } from "../../../base/json.ts";
import { malformedAnswer } from "../../errors/failure.ts";
import { EventCollector } from "../../ir/events.ts";
import type { IrResponse } from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import { GeminiStreamReader } from "./stream-in.ts";

/** A whole answer has the form of a stream's only chunk. */
export function readResponse(body: JsonObject, target: Target): IrResponse {
  const collector = new EventCollector();
  const reader = new GeminiStreamReader((event) => collector.push(event), target);
  reader.read(body);
  if (!reader.hasEndedText) throw malformedAnswer("an answer without a finishReason");
  reader.end();
  return collector.response();
}
