import { audit } from "../audit.ts";
import type { AdminDeps } from "../deps.ts";
import { changeStatus } from "./change-key.ts";

/**
 * Revokes the keys of a trial, which ends with the first real provider: they were issued before anything cost money, and
 * may be known to more people. Returns how many were revoked.
 */
export async function endTrialKeys(
  deps: Pick<AdminDeps, "store" | "clock" | "applyChanges">,
): Promise<number> {
  const { admin } = deps.store;
  let ended = 0;
  for (const id of await admin.listTrialKeys()) {
    const found = await deps.store.findKey(id);
    if (found === null || found.status === "revoked") continue;
    const { key } = await changeStatus(deps, id, "revoked");
    ended += 1;
    const change = { action: "key.revoke", target: key.prefix, detail: "the trial has ended" };
    await audit(deps, { actor: "start", address: "" }, change);
  }
  if (ended > 0) await deps.applyChanges();
  return ended;
}
