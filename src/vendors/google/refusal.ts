import { msPerDay } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { errorIn } from "../../dialects/errors/bare-error.ts";
import { objectOf, objectsOf, stringOf } from "../../dialects/json/json-fields.ts";
import { readDefaultRefusal } from "../http/default-refusal.ts";
import type { RefusalSubject, RefusedAnswer, VendorRefusal } from "../provider.ts";

/** Google's daily quotas are renewed at midnight in California. */
const clock = new Intl.DateTimeFormat("en-US", {
  timeZone: "America/Los_Angeles",
  hourCycle: "h23",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
});

function untilMidnightMs(nowMs: number): number {
  const parts = clock.formatToParts(nowMs);
  const figure = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return msPerDay - ((figure("hour") * 60 + figure("minute")) * 60 + figure("second")) * 1000;
}

/** Google's errors: `status` says more than the HTTP status, and `details` when to try again. */
export function readGoogleRefusal(answer: RefusedAnswer): VendorRefusal {
  const refusal = readDefaultRefusal(answer);
  const error = objectOf(errorIn(answer.text)?.["error"]);
  if (error === null) return refusal;
  const details = objectsOf(error["details"]);
  const about = subjectOf(answer.head.status, error, details);
  const quotaResetMs = isDailyQuota(details) ? untilMidnightMs(answer.receivedAtMs) : null;
  return {
    ...refusal,
    ...(about === null ? {} : { about }),
    ...(quotaResetMs === null ? {} : { quotaResetMs }),
    retryAfterMs: quotaResetMs ?? retryDelayMs(details) ?? refusal.retryAfterMs,
  };
}

/** Null if the HTTP status is sufficient. */
function subjectOf(status: number, error: JsonObject, details: readonly JsonObject[]): RefusalSubject | null {
  if (status === 504) return "timeout";
  if (status !== 400) return null;
  if (isKeyRefused(error, details)) return "credential";
  // The account's location is not supported, or billing is off.
  return error["status"] === "FAILED_PRECONDITION" ? "account" : null;
}

function isKeyRefused(error: JsonObject, details: readonly JsonObject[]): boolean {
  if (details.some(({ reason }) => reason === "API_KEY_INVALID")) return true;
  return /\bapi key (?:not valid|expired)/i.test(stringOf(error["message"]) ?? "");
}

function ofType(details: readonly JsonObject[], type: string): JsonObject | undefined {
  return details.find((detail) => stringOf(detail["@type"])?.endsWith(`google.rpc.${type}`) === true);
}

/** `"34.4s"`; gRPC also knows `"900ms"`. */
function retryDelayMs(details: readonly JsonObject[]): number | null {
  const delay = stringOf(ofType(details, "RetryInfo")?.["retryDelay"]) ?? "";
  const [, figure, unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(delay) ?? [];
  if (figure === undefined) return null;
  return Math.ceil(Number(figure) * (unit === "s" ? 1000 : 1));
}

function isDailyQuota(details: readonly JsonObject[]): boolean {
  const violations = objectsOf(ofType(details, "QuotaFailure")?.["violations"]);
  return violations.some(({ quotaId }) => stringOf(quotaId)?.includes("PerDay") === true);
}
