import { nextLoopIteration } from "../../base/loop/pacer.ts";
import type { KeyRecord, Store } from "../../store/store.ts";

/** How many audit records are searched, newest first. The search only runs if a name matches no key. */
const maxRecords = 20_000;
const recordsPerPage = 500;

export function rotationDetail(formerPrefix: string, graceMs: number): string {
  return `was ${formerPrefix}, grace ${graceMs / 1000} s`;
}

/**
 * The key that had this prefix before it was rotated; null if none is known. A key's record has only the current prefix,
 * but logs and clients still have the former ones.
 */
export async function keyFormerlyNamed(store: Store, prefix: string): Promise<KeyRecord | null> {
  if (!prefix.startsWith("slu_")) return null;
  const successors = await successorsSince(store, prefix);
  let latest = successors.get(prefix);
  if (latest === undefined) return null;
  for (let next = successors.get(latest); next !== undefined; next = successors.get(next)) latest = next;
  return store.findKey(latest);
}

/** Maps old prefixes to the ones that replaced them, from the newest rotation back to the one that replaced `prefix`. */
async function successorsSince(store: Store, prefix: string): Promise<ReadonlyMap<string, string>> {
  const successors = new Map<string, string>();
  let beforeId: number | undefined;
  for (let searched = 0; searched < maxRecords; searched += recordsPerPage) {
    const records = await store.admin.listAudit({ beforeId, limit: recordsPerPage });
    for (const { action, target, detail } of records) {
      const former = action === "key.rotate" ? /^was (slu_\w+),/.exec(detail ?? "")?.[1] : undefined;
      if (former !== undefined && target !== null) successors.set(former, target);
      if (former === prefix) return successors;
    }
    beforeId = records.at(-1)?.id;
    if (records.length < recordsPerPage) break;
    await nextLoopIteration();
  }
  return successors;
}
