import { signal } from "@preact/signals";
import type { IssuedKeyView } from "../../admin/keys/schema.ts";

/**
 * Secrets that this tab has seen being made, so that the playground can use them without a paste. They
 * live in memory only: closing or reloading the tab forgets them.
 */
export const knownSecrets = signal<readonly { readonly name: string; readonly secret: string }[]>([]);

export function remember(issued: IssuedKeyView): void {
  const known = { name: issued.label ?? `${issued.prefix}…`, secret: issued.key };
  knownSecrets.value = [known, ...knownSecrets.value];
}
