import { familyOf, hashSecret } from "../../../keys/secret.ts";
import type { RefreshableSignIn, SignInEndReason } from "../../../store/store.ts";
import { bySignIn, describe, endSignIns, endTexts } from "../../access/end-sign-ins.ts";
import { personOf } from "../../access/identity.ts";
import { mayHoldKeys } from "../../access/lost-sign-ins.ts";
import { audit } from "../../audit.ts";
import type { AdminDeps } from "../../deps.ts";
import { formerPair, mintNext, stateAfter, type TokenPair } from "./tokens.ts";

/** Grace time of a replaced token: two processes that share a file send the same token at once, and responses get lost. */
const graceMs = 60_000;
const refreshesPerMinute = 60;

export type RefreshResult =
  | { readonly kind: "refreshed"; readonly pair: TokenPair }
  | { readonly kind: "unknown" }
  | { readonly kind: "over"; readonly text: string }
  | { readonly kind: "too_many"; readonly waitSeconds: number };

/**
 * Each refresh replaces the refresh token. For a minute, the former token gets the same response. An older token, or a
 * later use, means that it was copied: the sign-in ends.
 */
export async function refreshTokens(
  deps: AdminDeps,
  presented: string,
  address: string,
): Promise<RefreshResult> {
  const { signIns } = deps.store.admin;
  const family = familyOf(presented);
  const presentedHash = hashSecret(presented);
  for (;;) {
    const signIn = family === null ? null : await signIns.findByFamily(hashSecret(family));
    if (signIn === null) return { kind: "unknown" };
    if (signIn.endReason !== null) return over(endTexts[signIn.endReason]);
    const rate = deps.guard.refreshes.take(signIn.id, refreshesPerMinute);
    if (!rate.allowed) return { kind: "too_many", waitSeconds: rate.retryAfterSeconds };
    const reason = await endReasonOf(deps, signIn);
    if (reason !== null) return end(deps, signIn, reason);
    if (deps.keys.byId(signIn.keyId)?.status === "suspended") return over("its key is suspended");
    const nowMs = deps.clock.wallMs();
    if (signIn.formerHash === presentedHash && nowMs - signIn.usedAtMs <= graceMs) {
      const pair = formerPair(signIn, presented);
      if (pair !== null) return { kind: "refreshed", pair };
    }
    if (signIn.refreshHash !== presentedHash) return endReused(deps, signIn, address);
    const pair = mintNext(presented, deps.settings().admin.signIns, { beganAtMs: signIn.beganAtMs, nowMs });
    if (pair === null) return { kind: "unknown" };
    // False if another process was faster: then this token is the former one.
    if (!(await signIns.refresh(signIn.id, presentedHash, stateAfter(signIn, presented, pair, nowMs))))
      continue;
    await deps.applyChanges();
    return { kind: "refreshed", pair };
  }
}

/** Why it cannot be refreshed any more; null if it can. */
async function endReasonOf(
  { store, clock, keys, settings, applyChanges }: AdminDeps,
  { keyId, beganAtMs, usedAtMs }: RefreshableSignIn,
): Promise<SignInEndReason | null> {
  const { admin } = settings();
  const nowMs = clock.wallMs();
  if (nowMs - beganAtMs >= admin.signIns.maxAgeMs) return "too_old";
  if (nowMs - usedAtMs >= admin.signIns.idleMs) return "unused";
  await applyChanges();
  if (keys.byId(keyId)?.status === "revoked") return "key_revoked";
  const [bound] = await store.admin.devices.findBoundKeys([keyId]);
  const person = bound === undefined ? null : personOf(bound.identity);
  return person !== null && mayHoldKeys(person, admin) ? null : "no_role";
}

async function endReused(
  deps: AdminDeps,
  signIn: RefreshableSignIn,
  address: string,
): Promise<RefreshResult> {
  const detail = `${describe(signIn)}: a refresh token was used again, by ${address}`;
  const change = { action: "sign_in.reuse", target: signIn.id, detail };
  await audit(deps, { ...bySignIn, address }, change);
  return end(deps, signIn, "reused");
}

async function end(
  deps: AdminDeps,
  { id }: RefreshableSignIn,
  reason: SignInEndReason,
): Promise<RefreshResult> {
  await endSignIns(deps, [id], reason);
  await deps.applyChanges();
  return over(endTexts[reason]);
}

function over(why: string): RefreshResult {
  return { kind: "over", text: `This sign-in has ended (${why}). Sign in again.` };
}
