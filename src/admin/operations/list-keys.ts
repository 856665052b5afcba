import type { KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { type KeySummary, readKeySummary } from "./key-summary.ts";

const pageSize = 500;

/** All keys, or those that match the search. */
export async function listKeys(context: OperationContext, search?: string): Promise<KeySummary[]> {
  const summaries: KeySummary[] = [];
  for await (const key of eachKey(context, search)) summaries.push(await readKeySummary(context, key));
  return summaries;
}

async function* eachKey({ store }: OperationContext, search?: string): AsyncGenerator<KeyRecord> {
  let cursor: string | undefined;
  do {
    const page = await store.listKeys({ search, limit: pageSize, cursor });
    yield* page.keys;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
