import { isUnknownModel, isUnpaid } from "../../dialects/errors/account-refusal.ts";
import { type Refusal, readRefusal } from "../../dialects/errors/refusal.ts";
import type { RefusalSubject, RefusedAnswer, VendorRefusal } from "../provider.ts";
import { retryAfterMs } from "./retry-after.ts";

/** The errors of most vendors: one of the known envelopes, and Retry-After as a header. */
export function readDefaultRefusal({ head, text, receivedAtMs }: RefusedAnswer): VendorRefusal {
  const refusal = readRefusal(head.status, head.get("content-type"), text);
  const waitMs = retryAfterMs(head, receivedAtMs);
  const about = subjectOf(head.status, refusal, waitMs);
  return { ...refusal, ...(about === null ? {} : { about }), retryAfterMs: waitMs };
}

/** Null if the status is sufficient. */
function subjectOf(status: number, refusal: Refusal, waitMs: number | null): RefusalSubject | null {
  if (status === 400 && refusal.refusesProofs === true) return "proofs";
  // OpenAI, DeepSeek, Mistral and others say so of the model's name, which others say with 404, or with 410 once it is retired.
  if (status === 410 || ((status === 400 || status === 422) && isUnknownModel(refusal))) return "account";
  if (status < 400 || status >= 500) return null;
  // Azure says `insufficient_quota` of a minute's quota too, but then it says how long to wait.
  return waitMs === null && isUnpaid(refusal) ? "unpaid" : null;
}
