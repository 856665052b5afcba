import type { JsonObject } from "../../base/json.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";
import { objectsOf } from "../../dialects/json/json-fields.ts";
import { textsIn, wholeNumberOf } from "./request.ts";

/** What the demo answers in place of an answer. */
export interface DemoError {
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
}

/** As many as OpenAI takes. */
const mostChoices = 128;

/** For a field that the demo cannot obey, and that would change what the answer means. */
export function refusalOf(body: JsonObject): DemoError | null {
  const choices = wholeNumberOf(body["n"]) ?? 1;
  if (choices < 1 || choices > mostChoices) return refuse("n", `The demo gives 1 to ${mostChoices} choices.`);
  return storedRefusal(body) ?? probabilityRefusal(body);
}

/** Earlier answers and templates are not stored. */
function storedRefusal(body: JsonObject): DemoError | null {
  const stored = ["previous_response_id", "conversation", "prompt"].find(
    (name) => (body[name] ?? null) !== null,
  );
  if (stored !== undefined) {
    const message = `The demo stores nothing that \`${stored}\` could name; send the whole conversation.`;
    return stored === "previous_response_id"
      ? { message, param: stored, code: "previous_response_not_found" }
      : refuse(stored, message);
  }
  const reference = objectsOf(body["input"]).findIndex(({ type }) => type === "item_reference");
  return reference === -1
    ? null
    : refuse(`input[${reference}]`, "The demo stores no items; send the item itself.");
}

function probabilityRefusal(body: JsonObject): DemoError | null {
  const isIncluded = textsIn(body["include"]).includes("message.output_text.logprobs");
  const ways = {
    logprobs: body["logprobs"] === true,
    top_logprobs: (wholeNumberOf(body["top_logprobs"]) ?? 0) > 0,
    include: isIncluded,
  };
  const asked = Object.entries(ways).find(([, isAsked]) => isAsked)?.[0];
  if (asked === undefined) return null;
  return refuse(asked, "The demo is no model, so its words have no probabilities; leave them out.");
}

function refuse(param: string, message: string): DemoError {
  return { message, param, code: "unsupported_parameter" };
}

/** An error as the dialect's vendor writes it, for any status that a text may ask for. */
export function errorBodyOf(
  format: ErrorFormat,
  status: number,
  { message, param, code }: DemoError,
): JsonObject {
  if (format === "anthropic") {
    const type = anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
    return { type: "error", error: { type, message } };
  }
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: param ?? null, code: code ?? null } };
}

const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};
