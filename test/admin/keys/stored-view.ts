import type { KeyView } from "../../../src/admin/key-terms/schema.ts";
import { keyView } from "../../../src/admin/keys/key-list.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { storedSummaries } from "../../../src/ledger/stored-accounts.ts";
import type { KeyRecord, Store } from "../../../src/store/store.ts";

/** A key as a command shows it that reads the store in its own process. */
export function storedKeyView(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  key: KeyRecord,
): Promise<KeyView> {
  const none = { nano: 0, tokens: 0 };
  const summaries = (ids: readonly string[]) => storedSummaries(store, ids, clock.wallMs());
  const accounts = { summaries, held: () => none, overrun: none };
  return keyView({ store, clock, accounts, knowsReserved: false }, key);
}
