import { familyOf, hashSecret } from "../../../keys/secret.ts";
import type { SignIn } from "../../../store/store.ts";
import { endSignIns } from "../../access/end-sign-ins.ts";
import type { AdminDeps } from "../../deps.ts";

/** Signs out: either token ends its sign-in, and no other. A key is not revoked. */
export async function revokeToken(deps: AdminDeps, token: string, address: string): Promise<void> {
  const signIn = await signInWith(deps, token);
  if (signIn === null || signIn.endedAtMs !== null) return;
  await endSignIns(deps, [signIn.id], "signed_out", { actor: signIn.name, address });
  await deps.applyChanges();
}

async function signInWith({ store, keys }: AdminDeps, token: string): Promise<SignIn | null> {
  const family = familyOf(token);
  if (family !== null) return store.admin.signIns.findByFamily(hashSecret(family));
  return keys.signIns.ofToken(token)?.signIn ?? null;
}
