import type { OperationContext } from "./context.ts";
import { type KeySummary, readKeySummaries } from "./key-summary.ts";

const pageSize = 500;

/** All keys, or those that match the search. */
export async function listKeys(context: OperationContext, search?: string): Promise<KeySummary[]> {
  const summaries: KeySummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await context.store.listKeys({ search, limit: pageSize, cursor });
    summaries.push(...(await readKeySummaries(context, page.keys)));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return summaries;
}
