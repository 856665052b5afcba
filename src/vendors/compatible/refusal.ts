import { errorIn } from "../../dialects/errors/bare-error.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import { durationMs } from "../../dialects/rate-limit-headers.ts";
import { readDefaultRefusal } from "../http/default-refusal.ts";
import type { RefusalSubject, RefusedAnswer, VendorRefusal } from "../provider.ts";

/** Errors of OpenAI-compatible servers whose status has an unusual meaning. */
export function readCompatibleRefusal(answer: RefusedAnswer): VendorRefusal {
  const refusal = readDefaultRefusal(answer);
  const about = subjectOf(answer, refusal);
  const retryAfterMs = refusal.retryAfterMs ?? limitResetMs(answer);
  return about === null ? { ...refusal, retryAfterMs } : { ...refusal, retryAfterMs, about };
}

function subjectOf(
  { head, text }: RefusedAnswer,
  { code, type, message }: VendorRefusal,
): RefusalSubject | null {
  switch (head.status) {
    case 400:
      // Groq: the model wrote an unreadable call; a retry may succeed.
      if (code === "tool_use_failed") return "generation";
      // vLLM was started without its options for tools.
      return /--enable-auto-tool-choice|--tool-call-parser/.test(message) ? "account" : null;
    case 413:
      // Groq: more tokens than the account may use in a minute.
      return type === "tokens" || code === "rate_limit_exceeded" ? "busy" : null;
    case 403:
      // OpenRouter: the prompt was flagged.
      return isFlagged(text) ? "request" : null;
    case 498:
      // Groq: no capacity for the flexible tier.
      return "overloaded";
    default:
      return null;
  }
}

function isFlagged(text: string): boolean {
  const error = objectOf(errorIn(text)?.["error"]);
  return Array.isArray(objectOf(error?.["metadata"])?.["reasons"]);
}

/** Groq and OpenAI say when the limit is reset, e.g. `7.66s` or `2m59.56s`. Only for the limit that is used up. */
function limitResetMs({ head }: RefusedAnswer): number | null {
  if (head.status !== 429 && head.status !== 413) return null;
  for (const what of ["tokens", "requests"]) {
    if (head.get(`x-ratelimit-remaining-${what}`) !== "0") continue;
    const resetMs = durationMs(head.get(`x-ratelimit-reset-${what}`) ?? "");
    if (resetMs !== null) return resetMs;
  }
  return null;
}
