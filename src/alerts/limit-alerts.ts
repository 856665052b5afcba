import { msPerDay, utcDay } from "../base/clock.ts";
import { creditsFromNano } from "../base/money/money.ts";
import { nextPeriodStart } from "../base/money/period.ts";
import type { DrawnBound } from "../store/store.ts";
import type { Finding, Subject } from "./finding.ts";

const thresholds = [100, 95, 80] as const;
const soonMs = 7 * msPerDay;

/** The findings about a balance, a budget or a cap: how much of it is used, and how long the rest lasts. */
export function boundFindings(drawn: DrawnBound, nowMs: number): Finding[] {
  const { bound, mode, limit, used, period, models, capNo } = drawn;
  const shown = (amount: number) => (mode === "credit" ? creditsFromNano(amount) : amount);
  const unit = mode === "credit" ? "credits" : "tokens";
  const resetsAtMs = mode === "credit" && capNo === null ? null : nextPeriodStart(period, nowMs);
  const name = nameOf(drawn);
  const shared = {
    subject: subjectOf(drawn),
    sinceMs: null,
    lastWords: null,
    ...(capNo === null ? {} : { part: String(capNo) }),
  };
  const details = {
    limit: shown(limit),
    used: shown(used),
    unit,
    account: drawn.accountId,
    period: period === "none" ? null : period,
    models,
    resets_at: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
  };
  const found: Finding[] = [];
  const level = thresholds.find((threshold) => used * 100 >= limit * threshold);
  if (level !== undefined) {
    const amounts = `${short(shown(used))} of ${short(shown(limit))} ${unit}`;
    const state =
      level === 100 ? `is used up: ${amounts}` : `is at ${Math.floor((used * 100) / limit)} %: ${amounts}`;
    const kind = bound === "balance" || bound === "budget" ? bound : "cap";
    found.push({ ...shared, kind, level, text: `${name} ${state}.`, details: { level, ...details } });
  }
  const endsAtMs = usedUpAt(drawn, nowMs);
  if (
    endsAtMs !== null &&
    endsAtMs <= nowMs + soonMs &&
    endsAtMs < (resetsAtMs ?? Number.POSITIVE_INFINITY)
  ) {
    const used_up_at = new Date(endsAtMs).toISOString();
    const text = `${name} is used up on ${used_up_at.slice(0, 10)} at the rate of the last days.`;
    found.push({ ...shared, kind: "used_up_soon", level: null, text, details: { ...details, used_up_at } });
  }
  return found;
}

/** At the rate of the last days, of at least one; null if nothing was used, or nothing is left. */
function usedUpAt({ limit, used, recentlyUsed, createdAtMs }: DrawnBound, nowMs: number): number | null {
  if (recentlyUsed === 0 || used >= limit) return null;
  const countedSinceMs = Math.max(createdAtMs, (utcDay(nowMs) - 6) * msPerDay);
  const elapsedMs = Math.max(nowMs - countedSinceMs, msPerDay);
  return nowMs + Math.ceil(((limit - used) / recentlyUsed) * elapsedMs);
}

function subjectOf({ bound, keyId, label, prefix, accountId, accountLabel }: DrawnBound): Subject {
  const isKeys = keyId !== null && bound !== "account_cap";
  if (isKeys) return { type: "key", id: keyId, label: label ?? prefix ?? keyId };
  return { type: "account", id: accountId, label: accountLabel ?? accountId };
}

function nameOf(drawn: DrawnBound): string {
  const { type, label } = subjectOf(drawn);
  const { bound, period, models } = drawn;
  const what = { balance: "balance", budget: "budget", key_cap: "cap", account_cap: "cap" }[bound];
  const when = bound === "balance" || period === "none" ? "" : ` of this ${period}`;
  return `The ${what}${when}${models === null ? "" : ` for ${models}`} of the ${type} ${label}`;
}

/** Four digits are enough to read. */
function short(amount: number): string {
  return String(Number(amount.toPrecision(4)));
}
