import { utcDay } from "../../base/clock.ts";
import { creditsFromNano } from "../../base/money.ts";
import { effectiveStatus } from "../../keys/status.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import { keyDocument, summarizeKey } from "../operations/key-summary.ts";
import type { KeyList, KeyView, ListedKeyView } from "../views.ts";

interface KeyListQuery {
  readonly search?: string | undefined;
  readonly status?: string | undefined;
  readonly mode?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

const sparkDays = 14;

/** From memory, which has every key and every balance: thousands are searched in no time. */
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
  // A whole secret finds its key too: it begins with the key's prefix.
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

export function keyView({ clock, ledger }: AdminDeps, key: KeyRecord): KeyView {
  const account = ledger.summary(key.id);
  const held = key.mode === "credit" ? creditsFromNano(account.held) : account.budgetHeld;
  return { ...keyDocument(summarizeKey(key, account, clock.wallMs())), held };
}
