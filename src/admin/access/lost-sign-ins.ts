import { plural } from "../../base/text/plural.ts";
import { asCompared } from "../../config/admin.ts";
import type { AdminSettings } from "../../config/settings.ts";
import type { BoundKey } from "../../store/device-records.ts";
import { audit } from "../audit.ts";
import type { OperationContext } from "../context.ts";
import { bySignIn, endSignInsOf } from "./end-sign-ins.ts";
import { isIssuerConfigured, issuerName } from "./guard.ts";
import { type PersonIdentity, personOf } from "./identity.ts";
import { rolesOf } from "./person.ts";
import { mayHaveKeys } from "./roles.ts";

/** The name that a person's keys are bound to. */
export function personName({ issuer, user }: PersonIdentity): string {
  return `${issuer === null ? "proxy" : issuerName(issuer)} ${asCompared(user)}`;
}

export function mayHoldKeys(person: PersonIdentity, settings: AdminSettings): boolean {
  return isIssuerConfigured(person, settings) && mayHaveKeys(rolesOf(person, settings));
}

export interface FollowedSignIns extends OperationContext {
  /** Loads what was changed into memory. */
  applyChanges(): Promise<void>;
}

/**
 * Suspends keys whose owner can no longer sign in, because they were removed from the lists or their identity provider
 * was removed, and restores them once the owner can sign in again. Keys created by an operator are not affected. Called
 * for all keys at start and at every reload, and for one person's keys when they sign in. Returns how many keys it
 * suspended.
 */
export async function followSignIns(
  deps: FollowedSignIns,
  settings: AdminSettings,
  person?: string,
): Promise<number> {
  let ended = 0;
  let suspended = 0;
  let restored = 0;
  for (const bound of await deps.store.admin.devices.listBoundKeys(person)) {
    // A revoked key of sign-ins stays, so that the next sign-in creates no other one.
    if (bound.status === "revoked" && !bound.isForSignIns)
      await deps.store.admin.devices.unbindKey(bound.keyId);
    else if (bound.status === "revoked") continue;
    else if (!mayHoldKeys(personOf(bound.identity), settings)) {
      if (bound.isForSignIns)
        ended += await endSignInsOf(deps, personName(personOf(bound.identity)), "no_role");
      suspended += await suspend(deps, bound);
    } else if (bound.statusBefore !== null) restored += await restore(deps, bound);
  }
  if (ended + suspended + restored > 0) await deps.applyChanges();
  return suspended;
}

/** Returns how many keys it suspended. The loss is recorded first, so that a crash leaves no suspension without a cause. */
async function suspend(deps: FollowedSignIns, bound: BoundKey): Promise<0 | 1> {
  await deps.store.admin.devices.recordLostSignIn(bound.keyId, bound.status, deps.clock.wallMs());
  if (bound.status !== "active") return 0;
  await deps.store.updateKey(bound.keyId, { status: "suspended" });
  await auditKey(deps, bound, "key.suspend", "can no longer sign in");
  return 1;
}

/** Returns how many keys are active again. A key that an operator had stopped stays stopped. */
async function restore(deps: FollowedSignIns, bound: BoundKey): Promise<0 | 1> {
  const wasStoppedHere = bound.statusBefore === "active" && bound.status === "suspended";
  if (wasStoppedHere) {
    await deps.store.updateKey(bound.keyId, { status: "active" });
    await auditKey(deps, bound, "key.enable", "can sign in again");
  }
  await deps.store.admin.devices.recordSignIn(bound.keyId);
  return wasStoppedHere ? 1 : 0;
}

function auditKey(deps: FollowedSignIns, bound: BoundKey, action: string, what: string) {
  const detail = `${personOf(bound.identity).user} ${what}`;
  return audit(deps, bySignIn, { action, target: bound.prefix, detail });
}

/** Updates the person's groups at sign-in: they may have changed since the key was approved. */
export async function refreshSignIn(
  deps: FollowedSignIns,
  person: PersonIdentity,
  settings: AdminSettings,
): Promise<void> {
  const name = personName(person);
  const identity = JSON.stringify(person);
  await deps.store.admin.devices.updateIdentity(name, identity);
  for (const token of await deps.store.admin.listTokens()) {
    if (token.identity === null || token.identity === identity || token.revokedAtMs !== null) continue;
    if (personName(personOf(token.identity)) === name)
      await deps.store.admin.updateTokenIdentity(token.id, identity);
  }
  await followSignIns(deps, settings, name);
}

export interface SignInLosses {
  readonly keys: number;
  /** The owners of the keys, each once. */
  readonly people: readonly string[];
}

/** The active keys that `followSignIns` would suspend with these settings. */
export async function signInLosses(
  { store }: Pick<OperationContext, "store">,
  settings: AdminSettings,
): Promise<SignInLosses> {
  const bound = await store.admin.devices.listBoundKeys();
  const lost = bound.filter(
    (key) => key.status === "active" && !mayHoldKeys(personOf(key.identity), settings),
  );
  return { keys: lost.length, people: [...new Set(lost.map((key) => personOf(key.identity).user))] };
}

const maxNamed = 5;

/** A sentence without its end; null if no key is lost. */
export function lossesText({ keys, people }: SignInLosses): string | null {
  if (keys === 0) return null;
  const rest = people.length - maxNamed;
  const named = [...people.slice(0, maxNamed), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
  return `${plural(keys, "key")} would be suspended, because the owners could no longer sign in (${named})`;
}

/** Throws if these settings would suspend keys: that is rarely meant, and a terminal that lost its key stops working. */
export async function rejectSignInLosses(
  deps: Pick<OperationContext, "store">,
  settings: AdminSettings,
): Promise<void> {
  const losses = lossesText(await signInLosses(deps, settings));
  if (losses !== null) throw new SignInsWouldEnd(`${losses}; \`sluice config reload --yes\` accepts that`);
}

/** The settings were not applied. */
export class SignInsWouldEnd extends Error {}
