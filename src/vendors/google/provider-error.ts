import { msPerDay } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { once } from "../../base/once.ts";
import { errorIn } from "../../dialects/errors/bare-error.ts";
import { objectOf, objectsOf, stringOf } from "../../dialects/json/json-fields.ts";
import { readDefaultError } from "../http/default-error.ts";
import type { ErrorResponse, ProviderError, ProviderErrorSubject } from "../provider.ts";

/** Google's daily quotas are renewed at midnight in California. Made when first needed: that takes 10 ms. */
const clock = once(
  () =>
    new Intl.DateTimeFormat("en-US", {
      timeZone: "America/Los_Angeles",
      hourCycle: "h23",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }),
);

function untilMidnightMs(nowMs: number): number {
  const parts = clock().formatToParts(nowMs);
  const figure = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return msPerDay - ((figure("hour") * 60 + figure("minute")) * 60 + figure("second")) * 1000;
}

/** Google's errors: `status` is more precise than the HTTP status, and `details` has the time to retry. */
export function readGoogleError(answer: ErrorResponse): ProviderError {
  const providerError = readDefaultError(answer);
  const error = objectOf(errorIn(answer.text)?.["error"]);
  if (error === null) return providerError;
  const details = objectsOf(error["details"]);
  const about = subjectOf(answer.head.status, error, details);
  const quotaResetMs = isDailyQuota(details) ? untilMidnightMs(answer.receivedAtMs) : null;
  return {
    ...providerError,
    ...(about === null ? {} : { about }),
    ...(quotaResetMs === null ? {} : { quotaResetMs }),
    retryAfterMs: quotaResetMs ?? retryDelayMs(details) ?? providerError.retryAfterMs,
  };
}

/** Null if the HTTP status is sufficient. */
function subjectOf(
  status: number,
  error: JsonObject,
  details: readonly JsonObject[],
): ProviderErrorSubject | null {
  if (status === 504) return "timeout";
  if (status !== 400) return null;
  if (isKeyRejected(error, details)) return "credential";
  // The account's location is not supported, or billing is off.
  return error["status"] === "FAILED_PRECONDITION" ? "account" : null;
}

function isKeyRejected(error: JsonObject, details: readonly JsonObject[]): boolean {
  if (details.some(({ reason }) => reason === "API_KEY_INVALID")) return true;
  return /\bapi key (?:not valid|expired)/i.test(stringOf(error["message"]) ?? "");
}

function detailOfType(details: readonly JsonObject[], type: string): JsonObject | undefined {
  return details.find((detail) => stringOf(detail["@type"])?.endsWith(`google.rpc.${type}`) === true);
}

/** `"34.4s"`; gRPC also knows `"900ms"`. */
function retryDelayMs(details: readonly JsonObject[]): number | null {
  const delay = stringOf(detailOfType(details, "RetryInfo")?.["retryDelay"]) ?? "";
  const [, figure, unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(delay) ?? [];
  if (figure === undefined) return null;
  return Math.ceil(Number(figure) * (unit === "s" ? 1000 : 1));
}

function isDailyQuota(details: readonly JsonObject[]): boolean {
  const violations = objectsOf(detailOfType(details, "QuotaFailure")?.["violations"]);
  return violations.some(({ quotaId }) => stringOf(quotaId)?.includes("PerDay") === true);
}
