import { type IssuedKey, rotateKey as rotate } from "../../keys/issue.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";
import { rotationDetail } from "./former-prefix.ts";
import { OperationRefusal } from "./refusal.ts";

export interface RotatedKey extends IssuedKey {
  /** For the audit log, where the prefix that the key had is found again. */
  readonly detail: string;
}

/** Issues a new secret for a key. The old one stays valid for the grace period. */
export async function rotateKey(
  context: OperationContext,
  idOrPrefix: string,
  graceMs: number,
): Promise<RotatedKey> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === "revoked") {
    throw new OperationRefusal(
      "wrong_status",
      `${key.prefix} is revoked, and stays so; create a new key instead`,
    );
  }
  const issued = await rotate(context.store, context.clock, key, graceMs);
  return { ...issued, detail: rotationDetail(key.prefix, graceMs) };
}
