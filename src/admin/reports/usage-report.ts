import { mapInTurns } from "../../base/loop/in-turns.ts";
import type { KeyRing } from "../../keys/keyring.ts";
import { dimensionNames, dimensionOf, type GroupedTotals } from "../../store/store.ts";
import { findAccount } from "../accounts/accounts.ts";
import type { OperationContext } from "../context.ts";
import { findKey } from "../key-terms/find-key.ts";
import { type ChosenRange, iso } from "../moments.ts";
import type { ChartStep, UsageRowView, UsageView } from "./schema.ts";
import { largestGroups, stepFor, usageChart } from "./usage-chart.ts";
import { usageRow, usageTotalsView } from "./usage-totals-view.ts";
import { type ComparedModel, comparisonDocument } from "./what-if.ts";

export interface UsageReportRequest extends ChosenRange {
  /** Names of dimensions. */
  readonly by: readonly string[];
  /** An id, prefix or label; absent means all keys. */
  readonly key?: string | undefined;
  /** An account's id; absent means all accounts. */
  readonly account?: string | undefined;
  /** Maximum number of groups to return; the total includes all. Default: all. */
  readonly limit?: number | undefined;
  /** Number of groups to skip, returned by earlier pages. */
  readonly skip?: number | undefined;
  /** Adds totals over time, in steps of at least this length. */
  readonly step?: ChartStep | undefined;
  /** Adds the cost that the requests would have had on this model. */
  readonly as?: ComparedModel | undefined;
  /** Aborts when the report is no longer needed. */
  readonly signal?: AbortSignal | undefined;
}

const timeDimensions: ReadonlySet<string> = new Set(["hour", "day", "month"]);

/** The only source of usage figures: `sluice usage`, the admin API and the dashboard all call this. */
export async function usageReport(
  context: OperationContext,
  {
    by,
    key,
    account,
    sinceMs,
    untilMs,
    limit = Number.POSITIVE_INFINITY,
    skip = 0,
    step,
    as,
    signal,
  }: UsageReportRequest,
  namesOf: (groups: readonly GroupedTotals[], by: readonly string[]) => Promise<NameOf>,
): Promise<UsageView> {
  const keyId = key === undefined ? undefined : (await findKey(context, key)).id;
  const accountId = account === undefined ? undefined : (await findAccount(context, account)).id;
  const range = { sinceMs, untilMs };
  // Times stay in order; everything else is sorted by cost plus list cost.
  const order = timeDimensions.has(by[0] ?? "") ? "name" : "worth";
  const pageQuery = { ...range, keyId, accountId, signal, order, skip, limit } as const;
  const { groups, count, total } = await context.store.reports.usagePage(by, pageQuery);
  const nameOf = await namesOf(groups, by);
  const ofChart = by.filter((name) => !timeDimensions.has(name));
  const hasLargest =
    order === "worth" && skip === 0 && limit >= largestGroups && ofChart.length === by.length;
  const chart =
    step &&
    (await usageChart(
      context.store.reports,
      {
        ...{ by: ofChart, step: stepFor(step, sinceMs, untilMs), namesOf },
        largest: hasLargest ? groups : undefined,
      },
      { ...range, keyId, accountId, signal },
    ));
  return {
    by: by.join(","),
    since: iso(sinceMs),
    until: iso(untilMs),
    data: await mapInTurns(groups, (group) => rowDocument(by, group, nameOf)),
    total: usageTotalsView(total),
    ...(chart === undefined ? {} : { chart }),
    ...(as === undefined
      ? {}
      : comparisonDocument(
          as,
          await context.store.reports.compareCosts({ ...range, keyId, accountId, signal }, as.prices),
        )),
    next_cursor: skip + groups.length < count ? String(skip + groups.length) : null,
  };
}

function rowDocument(
  by: readonly string[],
  { groups: values, ...figures }: GroupedTotals,
  nameOf: NameOf,
): UsageRowView {
  const [first = null] = values;
  const isMoment = by[0] === "day" || by[0] === "hour";
  const group = by.length > 1 ? null : isMoment && first !== null ? iso(Date.parse(first)) : first;
  const groups = Object.fromEntries(by.map((dimension, place) => [dimension, values[place] ?? null]));
  return { ...usageRow(group, values.map(nameOf).join(", "), figures), groups };
}

const maxDimensions = 3;

export const dimensionText = `one of ${dimensionNames.join(", ")}, or up to ${maxDimensions} of them separated by commas`;

/** Parses `key,model`; null if a name is unknown. */
export function readDimensions(text: string): readonly string[] | null {
  const names = text.split(",").map((name) => name.trim());
  const isValid = new Set(names).size === names.length && names.length <= maxDimensions;
  return isValid && names.every((name) => dimensionOf(name) !== null) ? names : null;
}

/** The label of a key or an account; any other value is its own name. */
type NameOf = (value: string | null) => string;

/** Reads only the names of the groups on this page. */
export async function namesOfGroups(
  { store, keys }: OperationContext & { readonly keys: Pick<KeyRing, "byId"> },
  by: readonly string[],
  groups: readonly GroupedTotals[],
): Promise<NameOf> {
  const names = new Map<string, string>();
  const [ofKeys, ofAccounts] = ["key", "account"].map((dimension) => {
    const place = by.indexOf(dimension);
    return new Set(place === -1 ? [] : groups.flatMap((group) => group.groups[place] ?? []));
  });
  for (const id of ofKeys ?? []) {
    const key = keys.byId(id);
    if (key !== null) names.set(id, key.label ?? key.prefix);
  }
  for (const id of ofAccounts ?? []) {
    const label = (await store.findAccount(id))?.label;
    if (label != null) names.set(id, label);
  }
  return (value) => (value === null ? "none" : (names.get(value) ?? value));
}
