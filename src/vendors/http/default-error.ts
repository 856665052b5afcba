import { isUnknownModel, isUnpaid } from "../../dialects/errors/account-error.ts";
import { type ProviderErrorBody, readErrorBody } from "../../dialects/errors/error-body.ts";
import type { ErrorResponse, ProviderError, ProviderErrorSubject } from "../provider.ts";
import { retryAfterMs } from "./retry-after.ts";

/** The errors of most vendors: one of the known envelopes, and Retry-After as a header. */
export function readDefaultError({ head, text, receivedAtMs }: ErrorResponse): ProviderError {
  const error = readErrorBody(head.status, head.get("content-type"), text);
  const waitMs = retryAfterMs(head, receivedAtMs);
  const about = subjectOf(head.status, error, waitMs);
  return { ...error, ...(about === null ? {} : { about }), retryAfterMs: waitMs };
}

/** Null if the status is sufficient. */
function subjectOf(
  status: number,
  error: ProviderErrorBody,
  waitMs: number | null,
): ProviderErrorSubject | null {
  if (status === 400 && error.rejectsSignatures === true) return "signatures";
  // OpenAI, DeepSeek, Mistral and others say so of the model's name, which others say with 404, or with 410 once it is retired.
  if (status === 410 || ((status === 400 || status === 422) && isUnknownModel(error))) return "account";
  if (status < 400 || status >= 500) return null;
  // Azure says `insufficient_quota` of a minute's quota too, but then it says how long to wait.
  return waitMs === null && isUnpaid(error) ? "unpaid" : null;
}
