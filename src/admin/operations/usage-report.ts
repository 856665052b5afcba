import {
  dimensionNames,
  dimensionOf,
  type Figures,
  type GroupedFigures,
  sumFigures,
} from "../../store/store.ts";
import { iso, type UsageRowView, type UsageView } from "../views.ts";
import { allAccounts, findAccount } from "./accounts.ts";
import type { OperationContext } from "./context.ts";
import { figuresDocument, usageRow } from "./figures-document.ts";
import { findKey, keyPages } from "./find-key.ts";
import type { ChosenRange } from "./moments.ts";

export interface UsageReportRequest extends ChosenRange {
  /** Names of dimensions. */
  readonly by: readonly string[];
  /** An id, prefix or label; absent means all keys. */
  readonly key?: string | undefined;
  /** An account's id; absent means all accounts. */
  readonly account?: string | undefined;
  /** How many groups to return at most; all of them are in the total. */
  readonly largest?: number | undefined;
}

/** The only source of usage figures: `sluice usage`, the admin API and the dashboard all call this. */
export async function usageReport(
  context: OperationContext,
  { by, key, account, sinceMs, untilMs, largest }: UsageReportRequest,
  names: Names,
): Promise<UsageView> {
  const keyId = key === undefined ? undefined : (await findKey(context, key)).id;
  const accountId = account === undefined ? undefined : (await findAccount(context, account)).id;
  const range = { sinceMs, untilMs, nowMs: context.clock.wallMs() };
  const groups = await context.store.reports.usageByAll(by, { ...range, keyId, accountId });
  const shown = ranked(groups, by).slice(0, largest);
  return {
    by: by.join(","),
    since: iso(sinceMs),
    until: iso(untilMs),
    data: shown.map((group) => rowDocument(by, group, names)),
    total: figuresDocument(sumFigures(groups)),
  };
}

function rowDocument(
  by: readonly string[],
  { groups: values, ...figures }: GroupedFigures,
  names: Names,
): UsageRowView {
  const [first = null] = values;
  const isMoment = by[0] === "day" || by[0] === "hour";
  const group = by.length > 1 ? null : isMoment && first !== null ? iso(Date.parse(first)) : first;
  const groups = Object.fromEntries(by.map((dimension, place) => [dimension, values[place] ?? null]));
  return { ...usageRow(group, values.map(names.short).join(", "), figures), groups };
}

/** Times stay in order; everything else is sorted by cost plus list cost. */
function ranked(
  groups: readonly GroupedFigures[],
  [first = ""]: readonly string[],
): readonly GroupedFigures[] {
  if (["hour", "day", "month"].includes(first)) return groups;
  const worth = ({ spendNano, listCostNano }: Figures) => spendNano + listCostNano;
  return groups.toSorted((a, b) => worth(b) - worth(a) || b.requests - a.requests);
}

const mostDimensions = 3;

export const dimensionWords = `one of ${dimensionNames.join(", ")}, or up to ${mostDimensions} of them with commas between`;

/** `key,model`; null if it is none of these. */
export function readDimensions(text: string): readonly string[] | null {
  const names = text.split(",").map((name) => name.trim());
  const isValid = new Set(names).size === names.length && names.length <= mostDimensions;
  return isValid && names.every((name) => dimensionOf(name) !== null) ? names : null;
}

/** What people call keys and accounts; everything else is called what it is. */
export interface Names {
  short(value: string | null): string;
  /** With the prefix of a key that has a label. */
  full(value: string | null): string;
}

export async function readNames({ store }: OperationContext, by: readonly string[]): Promise<Names> {
  const [short, full] = [new Map<string, string>(), new Map<string, string>()];
  if (by.includes("account")) {
    for (const { id, label } of await allAccounts(store)) if (label !== null) short.set(id, label);
  }
  for await (const keys of by.includes("key") ? keyPages(store) : []) {
    for (const { id, label, prefix } of keys) {
      short.set(id, label ?? prefix);
      full.set(id, label === null ? prefix : `${prefix} ${label}`);
    }
  }
  const shortName = (value: string | null) => (value === null ? "none" : (short.get(value) ?? value));
  return { short: shortName, full: (value) => full.get(value ?? "") ?? shortName(value) };
}
