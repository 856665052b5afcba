import type { KeyRecord } from "../../store/store.ts";
import { invalidInput, type OperationContext, OperationError, shownName } from "../context.ts";
import { keyFormerlyNamed } from "./former-prefix.ts";

const prefixLength = 12;
const pageSize = 500;

/**
 * Finds a key by id, prefix, the start of either, or label. A name that matches several keys is rejected, so that the
 * wrong key is never changed.
 */
export async function findKey({ store }: OperationContext, name: string): Promise<KeyRecord> {
  if (name.startsWith("slu_") && name.length > prefixLength) {
    const prefix = name.slice(0, prefixLength);
    throw invalidInput(`this is a full key, which is secret; use its prefix instead: ${prefix}`);
  }
  const exact = await store.findKey(name);
  if (exact !== null) return exact;
  const matching = await store.keysNamed(name, maxNamed + 1);
  const [only, ...others] = matching;
  if (only === undefined) {
    const rotated = await keyFormerlyNamed(store, name);
    if (rotated === null) throw unknownKey(name);
    throw new OperationError("unknown_key", `${name} was rotated; the key's prefix is now ${rotated.prefix}`);
  }
  if (others.length > 0) throw new OperationError("ambiguous_key", ambiguous(name, matching));
  return only;
}

export function unknownKey(name: string): OperationError {
  return new OperationError(
    "unknown_key",
    `key "${shownName(name)}" does not exist; run \`sluice keys list\``,
  );
}

/** Pages of all keys, or of those that match the search. */
export async function* keyPages(
  store: OperationContext["store"],
  search?: string,
): AsyncGenerator<readonly KeyRecord[]> {
  let cursor: string | undefined;
  do {
    const page = await store.listKeys({ search, limit: pageSize, cursor });
    yield page.keys;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

const maxNamed = 5;

function ambiguous(name: string, matching: readonly KeyRecord[]): string {
  const ids = matching.slice(0, maxNamed).map(({ id }) => id);
  return `"${name}" matches several keys; use an id: ${ids.join(", ")}${matching.length > maxNamed ? ", …" : ""}`;
}
