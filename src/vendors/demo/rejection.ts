import type { JsonObject } from "../../base/json.ts";
import { wholeNumberOf } from "./request.ts";

/** An error that the demo returns instead of a response. */
export interface DemoError {
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
}

/** OpenAI's maximum. */
const maxChoices = 128;

/** For a field that the demo does not support, and that would change the meaning of the response. */
export function rejectionOf(body: JsonObject): DemoError | null {
  const choices = wholeNumberOf(body["n"]) ?? 1;
  if (choices < 1 || choices > maxChoices)
    return reject("n", `\`n\` must be 1 to ${maxChoices} for the demo.`);
  const wantsAlternatives = (wholeNumberOf(body["top_logprobs"]) ?? 0) > 0;
  if (body["logprobs"] !== true && !wantsAlternatives) return null;
  const param = wantsAlternatives ? "top_logprobs" : "logprobs";
  return reject(
    param,
    "Log probabilities are not available from the demo, because it is not a model. Remove the field.",
  );
}

function reject(param: string, message: string): DemoError {
  return { message, param, code: "unsupported_parameter" };
}

/** An error as OpenAI writes it, for any status that a text may ask for. */
export function errorBodyOf(status: number, { message, param, code }: DemoError): JsonObject {
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: param ?? null, code: code ?? null } };
}
