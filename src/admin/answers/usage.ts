import { creditsFromNano } from "../../base/money.ts";
import type { Sums } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import { findKey } from "../operations/find-key.ts";
import type { UsageRowView, UsageView } from "../views.ts";
import { iso } from "./time.ts";

export interface UsageQuery {
  readonly by: UsageView["by"];
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly key?: string | undefined;
}

/** A long time over all keys comes from the coarser sums, where a year is some thousand rows. */
export async function usage(deps: AdminDeps, { by, sinceMs, untilMs, key }: UsageQuery): Promise<UsageView> {
  const data =
    key === undefined
      ? await overAllKeys(deps, by, sinceMs, untilMs)
      : await ofKey(deps, by, sinceMs, untilMs, key);
  return { by, since: iso(sinceMs), until: iso(untilMs), data };
}

const mostRows = 10_000;

async function overAllKeys(
  { store, keys }: AdminDeps,
  by: UsageView["by"],
  sinceMs: number,
  untilMs: number,
): Promise<UsageRowView[]> {
  const range = { sinceMs, untilMs, limit: mostRows };
  switch (by) {
    case "model":
    case "provider":
      return (await store.reports.topBy(by, range)).map((row) => usageRow(row.group, row.group, row));
    case "key":
      return (await store.reports.topKeys(range)).map((row) => {
        const key = keys.byId(row.group);
        return usageRow(row.group, key?.label ?? key?.prefix ?? row.group, row);
      });
    case "hour":
    case "day": {
      const stepHours = by === "hour" ? 1 : 24;
      const steps = await store.reports.usageInSteps({ sinceMs, untilMs, stepHours });
      return steps.map((row) => {
        const at = iso(row.step * stepHours * 3_600_000);
        return usageRow(at, by === "day" ? at.slice(0, 10) : at, row);
      });
    }
  }
}

async function ofKey(
  deps: AdminDeps,
  by: UsageView["by"],
  sinceMs: number,
  untilMs: number,
  key: string,
): Promise<UsageRowView[]> {
  const keyId = (await findKey(deps, key)).id;
  const groups = await deps.store.summarizeUsage({ by, sinceMs, untilMs, keyId });
  return groups.map((group) => usageRow(group.group, group.group, group));
}

export function usageRow(group: string, name: string, sums: Sums): UsageRowView {
  return {
    group,
    name,
    requests: sums.requests,
    errors: sums.failures,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    spend: creditsFromNano(sums.costNano),
  };
}
