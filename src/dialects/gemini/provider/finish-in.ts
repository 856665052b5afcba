import { tableOf } from "../../../base/collections/table.ts";
import { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { FailedStart } from "../../contract/provider-dialect.ts";
import { failedResponse } from "../../errors/failure.ts";
import { unknownFinish } from "../../ir/blocks.ts";
import type { FinishReason, IrFinish } from "../../ir/ir.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { usageReader } from "./usage-in.ts";

const reasons = tableOf<FinishReason>({
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "refusal",
  RECITATION: "refusal",
  LANGUAGE: "refusal",
  BLOCKLIST: "refusal",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
  MODEL_ARMOR: "refusal",
  OTHER: "refusal",
  IMAGE_SAFETY: "refusal",
  IMAGE_PROHIBITED_CONTENT: "refusal",
  IMAGE_RECITATION: "refusal",
});

/** The model has failed. An agent that treated these as a normal end would wait for a call that never comes. */
const failures: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MALFORMED_RESPONSE",
  "MISSING_THOUGHT_SIGNATURE",
  "NO_IMAGE",
  "IMAGE_OTHER",
]);

/** The end of a response: normal, or the failure that it reports. */
export type GeminiFinish =
  | { readonly finish: IrFinish; readonly failure: null }
  | { readonly finish: null; readonly failure: GatewayError };

/** Null if the candidate is not finished. */
export function readGeminiFinish(candidate: JsonObject): GeminiFinish | null {
  const written = stringOf(candidate["finishReason"]);
  if (written === null || written === "" || written === "FINISH_REASON_UNSPECIFIED") return null;
  if (failures.has(written)) {
    // Not the provider's message, which quotes what the model has written.
    const message = `The model's response failed (${written}). Retry.`;
    return { finish: null, failure: new GatewayError("upstream_error", message) };
  }
  const reason = reasons[written];
  if (reason === undefined) return { finish: unknownFinish(written), failure: null };
  const explanation = reason === "refusal" ? explanationOf(written, candidate) : null;
  return { finish: { reason, stopSequence: null, explanation }, failure: null };
}

/** The provider's message, else the blocked category, else the reason. */
function explanationOf(reason: string, candidate: JsonObject): string {
  const blocked = objectsOf(candidate["safetyRatings"]).find((rating) => rating["blocked"] === true);
  return stringOf(candidate["finishMessage"]) ?? stringOf(blocked?.["category"]) ?? reason;
}

/** A blocked prompt gets a response without candidates. Null if it was not blocked. */
export function readBlocked(answer: JsonObject): GeminiFinish | null {
  const feedback = objectOf(answer["promptFeedback"]);
  const reason = stringOf(feedback?.["blockReason"]);
  if (reason === null) return null;
  const explanation = stringOf(feedback?.["blockReasonMessage"]) ?? reason;
  return { finish: { reason: "refusal", stopSequence: null, explanation }, failure: null };
}

/** The model has failed before any content. */
export const failedStart: FailedStart = {
  marks: ['"finishReason"'],
  failureIn(answer) {
    const [candidate] = objectsOf(answer["candidates"]);
    const parts = objectsOf(objectOf(candidate?.["content"])?.["parts"]);
    if (candidate === undefined || parts.some(({ text }) => text !== "")) return null;
    const failure = readGeminiFinish(candidate)?.failure ?? null;
    return failure && failedResponse(failure, usageReader.usageIn(answer), usageReader.readExtras(answer));
  },
};
