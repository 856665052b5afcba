import { attributesOf, type KeyUpdate } from "../../base/key-attributes.ts";
import { ownAccountId } from "../../base/own-account.ts";
import { type IssuedKey, rotateKey as issueNewSecret } from "../../keys/issue.ts";
import { mayBecome } from "../../keys/keyring.ts";
import type { CapRecord, KeyRecord, StoredKeyStatus } from "../../store/store.ts";
import { personOf } from "../access/identity.ts";
import { findAccount } from "../accounts/accounts.ts";
import { checkEntryText } from "../accounts/enter-credit.ts";
import { invalidInput, type OperationContext, OperationError } from "../context.ts";
import { capLimits, capName, type WrittenCap } from "../key-terms/cap-text.ts";
import { updateDetail } from "../key-terms/change-detail.ts";
import { findKey } from "../key-terms/find-key.ts";
import { rotationDetail } from "../key-terms/former-prefix.ts";
import { checkKeyFields, checkKeyMode } from "../key-terms/key-fields.ts";
import { type KnownNames, rejectUnknownNames } from "../key-terms/known-names.ts";
import type { RaiseCapBody } from "../key-terms/schema.ts";

export interface UpdatedKey {
  readonly key: KeyRecord;
  /** For the audit log. */
  readonly detail: string;
}

/**
 * Changes only the fields that are set. Null removes a limit, a new expiry reactivates an expired key, and `caps`
 * replaces all caps of the key.
 */
export async function updateKey(
  context: OperationContext,
  idOrPrefix: string,
  { caps, ...update }: KeyUpdate & { readonly caps?: readonly WrittenCap[] | undefined },
  known: KnownNames | null = null,
): Promise<UpdatedKey> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === "revoked") throw revoked(key);
  if (key.mode === "credit" && (update.budgetTokens != null || update.period !== undefined)) {
    throw invalidInput(`${key.prefix} is a credit key without a token budget; top it up instead`);
  }
  const changesAccountTerms = update.budgetTokens !== undefined || update.period !== undefined;
  if (changesAccountTerms && key.accountId !== ownAccountId(key.id)) {
    throw invalidInput(`the key shares the budget of account ${key.accountId}; update the account instead`);
  }
  checkKeyFields(update, context.clock.wallMs());
  checkKeyMode(update, key.mode);
  if (known !== null) rejectUnknownNames(update, known, key);
  const changes = attributesOf(update);
  const limits = caps && capLimits(caps, key.mode);
  const hasChanges = Object.keys(changes).length > 0;
  if (!hasChanges && limits === undefined) {
    throw invalidInput("nothing to change");
  }
  if (hasChanges) await context.store.updateKey(key.id, changes);
  if (limits !== undefined) await context.store.setCaps({ keyId: key.id }, limits, context.clock.wallMs());
  const updated = await findKey(context, key.id);
  return { key: updated, detail: updateDetail(key, updated) };
}

/**
 * Disables, enables, suspends or revokes a key, if the transition is allowed. `changed` is false if the key already had
 * the status for the same reason.
 */
export async function changeStatus(
  context: OperationContext,
  idOrPrefix: string,
  status: StoredKeyStatus,
): Promise<{ readonly key: KeyRecord; readonly changed: boolean }> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === status) return { key, changed: await keepStopped(context, key) };
  if (!mayBecome(key.status, status)) {
    if (key.status === "revoked") throw revoked(key);
    const why = `${key.prefix} is ${key.status}; enable it before it can be ${status}`;
    throw new OperationError("wrong_status", why);
  }
  if (status === "active") await rejectLostSignIn(context, key);
  return { key: await context.store.updateKey(key.id, { status }), changed: true };
}

/** An operator also stops the key whose owner can no longer sign in: it must not be restored with the sign-in. */
async function keepStopped({ store }: OperationContext, { id, status }: KeyRecord): Promise<boolean> {
  return status === "suspended" && (await store.admin.devices.replaceStatusBefore(id, status));
}

/** Rejects a key whose owner cannot sign in: the next start or reload would suspend it again. */
async function rejectLostSignIn({ store }: OperationContext, { id, prefix }: KeyRecord): Promise<void> {
  const [bound] = await store.admin.devices.findBoundKeys([id]);
  if (bound === undefined || bound.statusBefore === null) return;
  const { user } = personOf(bound.identity);
  const why = `${prefix} ends with the sign-in of ${user}, who can no longer sign in; give them a role again, or create a key for them`;
  throw new OperationError("wrong_status", why);
}

/** Rejects the key of a sign-in: its secret would be valid without a sign-in. */
async function rejectSignInKey({ store }: OperationContext, { id, prefix }: KeyRecord): Promise<void> {
  const [bound] = await store.admin.devices.findBoundKeys([id]);
  if (bound?.isForSignIns !== true) return;
  throw new OperationError(
    "not_allowed",
    `${prefix} is used by sign-ins and has no secret to rotate; end them with sluice sign-ins revoke`,
  );
}

/** Issues a new secret for a key. The old one stays valid for the grace period. */
export async function rotateKey(
  context: OperationContext,
  idOrPrefix: string,
  graceMs: number,
): Promise<IssuedKey & UpdatedKey> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === "revoked") throw revoked(key);
  await rejectSignInKey(context, key);
  const issued = await issueNewSecret(context.store, context.clock, key, graceMs);
  // `keyFormerlyNamed` finds the old prefix by this text.
  return { ...issued, detail: rotationDetail(key.prefix, graceMs) };
}

/** Bills the key to another account of the same mode from now on. */
export async function moveKey(context: OperationContext, name: string, account: string): Promise<UpdatedKey> {
  const { id, accountId } = await findKey(context, name);
  const to = await findAccount(context, account);
  return {
    key: await context.store.moveKey(id, to.id, context.clock.wallMs()),
    detail: `${accountId} → ${to.id}`,
  };
}

/** Raises one of the key's caps, for the current period only. */
export async function raiseKeyCap(
  context: OperationContext,
  name: string,
  { amount, cap: capToRaise, note }: RaiseCapBody,
): Promise<UpdatedKey> {
  const { id, mode, prefix, caps } = await findKey(context, name);
  checkEntryText(note);
  const cap = capNamed(caps, capToRaise, prefix);
  const [limit] = capLimits([{ ...cap, amount }], mode);
  await context.store.extendCap({ keyId: id }, cap.no, limit?.limit ?? 0, context.clock.wallMs());
  return { key: await findKey(context, id), detail: `+${amount}/${capName(cap)}: ${note}` };
}

function capNamed(caps: readonly CapRecord[], capToRaise: string | undefined, prefix: string): CapRecord {
  const [only, ...others] = caps.filter((cap) => capToRaise === undefined || capName(cap) === capToRaise);
  if (only !== undefined && others.length === 0) return only;
  const names = caps.map(capName).join(", ");
  const why = caps.length === 0 ? `${prefix} has no cap` : `pass one of its caps: ${names}`;
  throw invalidInput(why);
}

function revoked({ prefix }: KeyRecord): OperationError {
  return new OperationError("wrong_status", `${prefix} is permanently revoked; create a new key`);
}
