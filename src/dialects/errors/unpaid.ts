import type { Refusal } from "./refusal.ts";

/** Codes and types of vendors whose account has no credit left, or has reached its spending limit. */
const codes: ReadonlySet<string | undefined> = new Set([
  // OpenAI
  "insufficient_quota",
  "billing_not_active",
  "billing_hard_limit_reached",
  // Anthropic
  "billing_error",
  // Moonshot
  "exceeded_current_quota_error",
  // Alibaba
  "Arrearage",
]);

/**
 * Where only the message says so. At its beginning, because further on it may quote the request. Google says "exceeded your
 * current quota" of a minute's quota as well, so that is no sign of it.
 */
const wording =
  /^(?:your credit balance is too low|you have reached your specified (?:workspace )?api usage limits|this organization has been disabled|your team \S+ has either used all available credits|insufficient balance)/i;

/** Whether the operator's account is out of credit. Vendors use 400, 402, 403 and 429 for it. */
export function isUnpaid({ code, type, message }: Refusal): boolean {
  return codes.has(code) || codes.has(type) || wording.test(message);
}
