import { tableOf } from "../../base/collections/table.ts";
import { readErrorBody } from "../../dialects/errors/error-body.ts";
import { objectOf, parseObject, stringOf } from "../../dialects/json/json-fields.ts";
import { retryAfterMs } from "../http/retry-after.ts";
import type { ErrorResponse, ProviderError, ProviderErrorSubject } from "../provider.ts";

/** AWS's exceptions whose status is misleading. Throttling never comes with a Retry-After. */
const subjects = tableOf<ProviderErrorSubject>({
  ExpiredTokenException: "expired",
  UnrecognizedClientException: "credential",
  InvalidSignatureException: "credential",
  AccessDeniedException: "account",
  ResourceNotFoundException: "account",
  ThrottlingException: "busy",
  ServiceQuotaExceededException: "busy",
  ModelNotReadyException: "passing",
  ModelTimeoutException: "timeout",
});

/** Validation errors that are the operator's: the model's name is wrong, or needs an inference profile. */
const operatorsMistake = /on-demand throughput|model identifier is invalid|end of its life|invalid model/i;
const overflow = /input is too long|prompt is too long|too many input tokens|exceeds? the (?:maximum|model)/i;

export function readBedrockError({ head, text, receivedAtMs }: ErrorResponse): ProviderError {
  // Some of AWS's servers write it with a capital letter.
  const message = stringOf(parseObject(text)?.["Message"]);
  const body = message === null ? text : JSON.stringify({ message });
  const error = readErrorBody(head.status, head.get("content-type"), body);
  const type = exceptionOf({ head, text });
  const contextOverflow = error.contextOverflow || (head.status === 400 && overflow.test(error.message));
  const isAboutSignatures = head.status === 400 && error.rejectsSignatures === true;
  const subject = isAboutSignatures ? "signatures" : subjectOf(type, error.message, text);
  return {
    ...error,
    contextOverflow,
    ...(type === null ? {} : { type }),
    ...(subject === null ? {} : { about: subject }),
    retryAfterMs: retryAfterMs(head, receivedAtMs),
  };
}

/** In a header, followed by a colon and a URL, or in the body, after a namespace and a hash. */
export function exceptionOf({ head, text }: Pick<ErrorResponse, "head" | "text">): string | null {
  const errorType = head.get("x-amzn-errortype") ?? stringOf(parseObject(text)?.["__type"]);
  return errorType?.split(":")[0]?.split("#").at(-1)?.trim() ?? null;
}

function subjectOf(type: string | null, message: string, text: string): ProviderErrorSubject | null {
  if (type === "ValidationException") return operatorsMistake.test(message) ? "account" : "request";
  if (type === "ModelErrorException") return modelError(text);
  return type === null ? null : (subjects[type] ?? null);
}

/** 424: the model's own server failed, and the response has its error. */
function modelError(text: string): ProviderErrorSubject {
  const original = objectOf(parseObject(text))?.["originalStatusCode"];
  if (original === 429) return "busy";
  return typeof original === "number" && original >= 400 && original < 500 ? "request" : "failure";
}
