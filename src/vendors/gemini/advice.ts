import { readGoogleRefusal } from "../google/refusal.ts";
import type { RefusedAnswer } from "../provider.ts";

/** What an operator should do about Google's refusal of a small request. */
export function adviseOnGemini(answer: RefusedAnswer, model: string): string | null {
  const { about, quotaResetMs } = readGoogleRefusal(answer);
  if (about === "credential") return "Google does not accept the API key; check api_key";
  if (about === "account")
    return "Google does not serve this account: check its location and billing in AI Studio";
  if (quotaResetMs !== undefined) {
    return `the key's quota of the day is used up; it is renewed in ${Math.ceil(quotaResetMs / 3_600_000)} h`;
  }
  switch (answer.head.status) {
    case 403:
      return "the key may not use this API; check its restrictions, and whether the API is enabled in its project";
    case 404:
      return `there is no model ${JSON.stringify(model)} for this key; check upstream_model`;
    default:
      return null;
  }
}
