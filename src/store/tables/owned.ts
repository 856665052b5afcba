import type { BatchOwner } from "../file-records.ts";

/** A condition over `keys AS k`. `parameter` is the placeholder of the key's id. */
export function isOwned({ withAccount }: Pick<BatchOwner, "withAccount">, parameter: string): string {
  if (!withAccount) return `k.id = ${parameter}::text`;
  return `k.account_no = (SELECT account_no FROM keys WHERE id = ${parameter}::text)`;
}
