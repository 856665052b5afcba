import type { AccountList } from "../../../admin/accounts/schema.ts";
import type { CapView, KeyList, KeyView } from "../../../admin/key-terms/schema.ts";
import { periodStart } from "../../../base/money/period.ts";
import { api, useLoaded } from "../api.ts";
import { credits, date, shortCount } from "../format.ts";
import { capText } from "../parts/cap-bars.tsx";
import { project, type UsedLimit } from "../projection.ts";

type Unit = KeyView["mode"];
type Limited = Pick<KeyView, "caps" | "budget" | "mode">;

export interface ShownLimit extends UsedLimit {
  readonly text: string;
  readonly period: string;
}

/** The caps of a key or an account, and its token budget. */
export function limitsOf({ caps, budget, mode }: Limited, nowMs: number): readonly ShownLimit[] {
  const ofCaps = caps.map((cap: CapView) => ({
    text: capText(cap, mode),
    period: cap.period,
    limit: cap.limit,
    used: cap.used,
    startMs: periodStart(cap.period, nowMs),
    endMs: cap.resets_at === null ? null : Date.parse(cap.resets_at),
  }));
  if (budget === null || budget.tokens === null) return ofCaps;
  const { tokens, used, period, resets_at: resetsAt } = budget;
  const text = `${shortCount(tokens)} tokens per ${period}`;
  const endMs = resetsAt === null ? null : Date.parse(resetsAt);
  return [...ofCaps, { text, period, limit: tokens, used, startMs: periodStart(period, nowMs), endMs }];
}

/** The key or the account that the page is limited to; null without one. */
export function useLimited(key: string | null, account: string | null) {
  return useLoaded(`limits of ${key} ${account}`, async (): Promise<Limited | null> => {
    if (key !== null) {
      const { data } = await api.get<KeyList>("/keys", { search: key, limit: 2 });
      return data.length === 1 ? (data[0] ?? null) : null;
    }
    if (account === null) return null;
    const { data } = await api.get<AccountList>("/accounts");
    return data.find(({ id }) => id === account) ?? null;
  }).value;
}

/** Each limit: what is used, where it will be at its end, and the day on which nothing is left. */
export function Projections({ limited }: { limited: Limited }) {
  const nowMs = Date.now();
  const limits = limitsOf(limited, nowMs).filter(({ startMs }) => startMs > 0 && startMs < nowMs);
  if (limits.length === 0) return null;
  return (
    <ul class="card stack">
      {limits.map((limit) => (
        <li key={limit.text}>
          <strong>{limit.text}</strong> {projectionText(limit, limited.mode, nowMs)}
        </li>
      ))}
    </ul>
  );
}

function projectionText(limit: ShownLimit, mode: Unit, nowMs: number): string {
  const amount = (value: number) => (mode === "credit" ? credits(value) : shortCount(value));
  const { atEnd, usedUpMs } = project(limit, nowMs);
  const used = `${amount(limit.used)} used`;
  if (limit.used >= limit.limit) return `${used}: nothing is left.`;
  if (usedUpMs !== null)
    return `${used}; at this rate nothing is left on ${date(new Date(usedUpMs).toISOString())}.`;
  if (atEnd === null || limit.endMs === null) return `${used}.`;
  return `${used}; at this rate ${amount(atEnd)} by ${date(new Date(limit.endMs).toISOString())}.`;
}
