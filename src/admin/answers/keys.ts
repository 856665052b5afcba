import { utcDay } from "../../base/clock.ts";
import { creditsFromNano } from "../../base/money.ts";
import { effectiveStatus } from "../../keys/status.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import type { KeyList, KeyView, ListedKeyView } from "../views.ts";
import { isoOrNull } from "./time.ts";

export interface KeyListQuery {
  readonly search?: string | undefined;
  readonly status?: string | undefined;
  readonly mode?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

const sparkDays = 14;

/** From memory: the gateway has every key and every balance there, so thousands are looked through in no time. */
export async function keyList(deps: AdminDeps, query: KeyListQuery): Promise<KeyList> {
  const found = [...deps.keys.all()].filter((key) => matches(deps, key, query)).toReversed();
  const after = query.cursor === undefined ? -1 : found.findIndex((key) => key.id === query.cursor);
  const page = found.slice(after + 1, after + 1 + query.limit);
  const last = page.at(-1);
  const more = last !== undefined && after + 1 + query.limit < found.length;
  return { data: await withRecentDays(deps, page), next_cursor: more ? last.id : null, total: found.length };
}

function matches(deps: AdminDeps, key: KeyRecord, { search, status, mode }: KeyListQuery): boolean {
  if (mode !== undefined && key.mode !== mode) return false;
  if (status !== undefined && effectiveStatus(key, deps.clock.wallMs()) !== status) return false;
  if (search === undefined || search === "") return true;
  const text = search.toLowerCase();
  if (key.label?.toLowerCase().includes(text)) return true;
  // Ids and prefixes are told by their beginning, and a whole secret by its prefix.
  return key.id.startsWith(search) || key.prefix.startsWith(search) || search.startsWith(key.prefix);
}

async function withRecentDays(deps: AdminDeps, keys: readonly KeyRecord[]): Promise<ListedKeyView[]> {
  const today = utcDay(deps.clock.wallMs());
  const firstDay = today - sparkDays + 1;
  const ids = keys.map((key) => key.id);
  const days = ids.length === 0 ? [] : await deps.store.reports.keyDays(ids, firstDay, today);
  const spent = new Map(days.map((day) => [`${day.keyId} ${day.day}`, day]));
  return keys.map((key) => {
    const recent = Array.from({ length: sparkDays }, (_, place) => {
      const day = spent.get(`${key.id} ${firstDay + place}`);
      return key.mode === "credit" ? creditsFromNano(day?.spendNano ?? 0) : (day?.spendTokens ?? 0);
    });
    return { ...keyView(deps, key), recent };
  });
}

export function keyView(deps: AdminDeps, key: KeyRecord): KeyView {
  const nowMs = deps.clock.wallMs();
  const account = deps.ledger.summary(key.id);
  const isCredit = key.mode === "credit";
  const graceLasts = key.previousUntilMs !== null && key.previousUntilMs > nowMs;
  return {
    id: key.id,
    prefix: key.prefix,
    label: key.label,
    mode: key.mode,
    status: effectiveStatus(key, nowMs),
    scope: key.scope,
    models: key.models === null ? null : [...key.models],
    rpm_limit: key.rpmLimit,
    created_at: new Date(key.createdAtMs).toISOString(),
    expires_at: isoOrNull(key.expiresAtMs),
    previous_secret_until: graceLasts ? isoOrNull(key.previousUntilMs) : null,
    credit: isCredit
      ? {
          purchased: creditsFromNano(account.purchased),
          used: creditsFromNano(account.used),
          balance: creditsFromNano(account.posted),
        }
      : null,
    budget: isCredit
      ? null
      : {
          tokens: account.budgetTokens,
          period: key.period,
          used: account.budgetUsed,
          remaining: account.budgetRemaining,
          resets_at: isoOrNull(account.periodEndsMs),
        },
    held: isCredit ? creditsFromNano(account.held) : account.budgetHeld,
    requests: account.requests,
    input_tokens: account.inputTokens,
    output_tokens: account.outputTokens,
  };
}
