import { msPerDay, utcDay } from "../base/clock.ts";
import { creditsFromNano } from "../base/money/money.ts";
import { nextPeriodStart } from "../base/money/period.ts";
import type { DrawnBound } from "../store/store.ts";
import type { Alert, Subject } from "./alert.ts";
import { levelOf, limitName, shareText, shortAmount } from "./limit-text.ts";

const soonMs = 7 * msPerDay;

/** Alerts about a balance, a budget or a cap: how much is used, and how long the rest lasts. */
export function limitAlerts(usedLimit: DrawnBound, nowMs: number): Alert[] {
  const { bound, mode, limit, used, period, models, capNo } = usedLimit;
  const shown = (amount: number) => (mode === "credit" ? creditsFromNano(amount) : amount);
  const unit = mode === "credit" ? "credits" : "tokens";
  const resetsAtMs = mode === "credit" && capNo === null ? null : nextPeriodStart(period, nowMs);
  const { type, label } = subjectOf(usedLimit);
  const holder = `${type === "key" ? "Key" : "Account"} ${label}`;
  const name = limitName(kindOfLimit[bound], period, models);
  const shared = {
    subject: subjectOf(usedLimit),
    sinceMs: null,
    lastError: null,
    ...(capNo === null ? {} : { part: String(capNo) }),
  };
  const details = {
    limit: shown(limit),
    used: shown(used),
    unit,
    account: usedLimit.accountId,
    period: period === "none" ? null : period,
    models,
    resets_at: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
  };
  const found: Alert[] = [];
  const level = levelOf(used, limit);
  if (level !== null) {
    const amounts = `${shortAmount(shown(used))} of ${shortAmount(shown(limit))} ${unit}`;
    const share = shareText(used, limit, level);
    const text = `${holder} has used ${share} its ${name}: ${amounts}.`;
    const kind = `${kindOfLimit[bound]}_threshold` as const;
    found.push({ ...shared, kind, level, text, details: { level, ...details } });
  }
  const endsAtMs = usedUpAt(usedLimit, nowMs);
  if (
    endsAtMs !== null &&
    endsAtMs <= nowMs + soonMs &&
    endsAtMs < (resetsAtMs ?? Number.POSITIVE_INFINITY)
  ) {
    const used_up_at = new Date(endsAtMs).toISOString();
    const text = `${holder} will use up its ${name} on ${used_up_at.slice(0, 10)} at the current rate.`;
    found.push({ ...shared, kind: "running_out", level: null, text, details: { ...details, used_up_at } });
  }
  return found;
}

/** When the limit is used up at the rate of the last days (at least one); null if nothing was used or nothing is left. */
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

const kindOfLimit = { balance: "balance", budget: "budget", key_cap: "cap", account_cap: "cap" } as const;
