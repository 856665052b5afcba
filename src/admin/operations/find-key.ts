import type { KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { keyFormerlyNamed } from "./former-prefix.ts";
import { OperationRefusal } from "./refusal.ts";

const shortestBeginning = 8;
const prefixLength = 12;

/** Finds a key by id or prefix, or by an unambiguous beginning of either; rejects anything else. */
export async function findKey({ store }: OperationContext, idOrPrefix: string): Promise<KeyRecord> {
  if (idOrPrefix.startsWith("slu_") && idOrPrefix.length > prefixLength) {
    const prefix = idOrPrefix.slice(0, prefixLength);
    throw new OperationRefusal(
      "invalid_input",
      `that is a whole key, which is a secret; name it by its prefix instead: ${prefix}`,
    );
  }
  const exact = await store.findKey(idOrPrefix);
  if (exact !== null) return exact;
  const { keys } = await store.listKeys({ search: idOrPrefix, limit: 100 });
  const fitting = keys.filter(
    ({ id, prefix }) =>
      prefix === idOrPrefix ||
      (idOrPrefix.length >= shortestBeginning &&
        (id.startsWith(idOrPrefix) || prefix.startsWith(idOrPrefix))),
  );
  const [only, ...others] = fitting;
  if (only === undefined) {
    const rotated = await keyFormerlyNamed(store, idOrPrefix);
    if (rotated !== null) {
      throw new OperationRefusal(
        "unknown_key",
        `${idOrPrefix} has been rotated; its key is ${rotated.prefix} now`,
      );
    }
    throw new OperationRefusal("unknown_key", unknownKey(idOrPrefix, keys));
  }
  if (others.length > 0) {
    const ids = fitting.map((key) => key.id).join(", ");
    throw new OperationRefusal(
      "ambiguous_key",
      `"${idOrPrefix}" fits several keys; name one by its id: ${ids}`,
    );
  }
  return only;
}

const mostNamed = 5;

/** A label is no name, because several keys may have the same; but whoever typed one is told whose it is. */
function unknownKey(typed: string, candidates: readonly KeyRecord[]): string {
  const labelled = candidates.filter(({ label }) => label === typed).map(({ prefix }) => prefix);
  if (labelled.length === 0) return `there is no key "${typed}"; list them to see their ids`;
  const shown = labelled.slice(0, mostNamed).join(", ") + (labelled.length > mostNamed ? ", …" : "");
  return `"${typed}" is the label of ${shown}; name the key by its prefix`;
}
