import type { JsonObject } from "../../src/base/json.ts";
import { estimateInput, type InputEstimate } from "../../src/catalog/estimate.ts";

/** The estimate of a body that is sent as `JSON.stringify` writes it. */
export function estimated(body: JsonObject): InputEstimate {
  return estimateInput(body, Buffer.byteLength(JSON.stringify(body)));
}

/** What is held for its input, unless it is counted. */
export function heldInput(body: JsonObject): number {
  return estimated(body).atMost;
}
