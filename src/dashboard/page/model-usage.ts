import type { UsageRowView, UsageView } from "../../admin/reports/schema.ts";

/** A page has a thousand groups, and a person can request 30 reports a minute. */
const maxPages = 5;

type UsagePage = Pick<UsageView, "data" | "next_cursor">;

/** The rows of all pages of a report, by their group. */
export async function rowsByGroup(
  ask: (cursor: string | null) => Promise<UsagePage>,
): Promise<ReadonlyMap<string | null, UsageRowView>> {
  const rows = new Map<string | null, UsageRowView>();
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page += 1) {
    const { data, next_cursor: next }: UsagePage = await ask(cursor);
    for (const row of data) rows.set(row.group, row);
    if (next === null) break;
    cursor = next;
  }
  return rows;
}
