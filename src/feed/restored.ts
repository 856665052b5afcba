import type { FeedRecords, LedgerRestore } from "../store/store.ts";
import { cursorOf } from "./entry-document.ts";

/** A restore as readers of the feed get it. */
export interface RestoredDocument {
  readonly at: string;
  /** Entries that a reader got before `at` and that follow this one were undone. Null: all of them. */
  readonly after: string | null;
}

/** Nothing if there was none. */
export async function restoredOf(
  { entry }: Pick<FeedRecords, "entry">,
  restores: readonly LedgerRestore[],
): Promise<{ readonly restored?: RestoredDocument[] }> {
  if (restores.length === 0) return {};
  const documents = restores.map(async ({ atMs, throughId }) => {
    const last = await entry(throughId);
    return { at: new Date(atMs).toISOString(), after: last && cursorOf(last) };
  });
  return { restored: await Promise.all(documents) };
}
