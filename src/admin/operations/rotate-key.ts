import { type IssuedKey, rotateKey as rotate } from "../../keys/issue.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";
import { OperationRefusal } from "./refusal.ts";

/** Issues a new secret for a key. The old one stays valid for the grace period. */
export async function rotateKey(
  context: OperationContext,
  idOrPrefix: string,
  graceMs: number,
): Promise<IssuedKey> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === "revoked") {
    throw new OperationRefusal(
      "wrong_status",
      `${key.prefix} is revoked, and stays so; create a new key instead`,
    );
  }
  return rotate(context.store, context.clock, key, graceMs);
}
