import { type Store, StoreError } from "../store/store.ts";

/**
 * Makes a change that depends on what is stored. If anything is changed after `make` has looked, also by another gateway, it looks
 * again: the store rejects a change with an outdated `sinceRevision`.
 */
export async function untilUnchanged<Result>(
  store: Pick<Store, "currentRevision">,
  make: (sinceRevision: number) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await make(await store.currentRevision());
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== "changed") throw error;
    }
  }
}
