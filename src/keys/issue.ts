import type { Clock } from "../base/clock.ts";
import { newId } from "../base/id.ts";
import { attributesOf, type KeyUpdate, unsetAttributes } from "../base/key-attributes.ts";
import { ownAccountId } from "../base/own-account.ts";
import type { CapLimit, KeyMode, KeyRecord, Store } from "../store/store.ts";
import { hashSecret, newSecret, prefixLength } from "./secret.ts";

export interface KeySpec extends KeyUpdate {
  /** Absent: a new one. */
  readonly id?: string | undefined;
  readonly mode: KeyMode;
  /** Opening credit of a credit key. */
  readonly creditNano?: number | undefined;
  /** The account to bill. Absent: a new account for this key alone. */
  readonly accountId?: string | undefined;
  /** Makes the key's own account postpaid. */
  readonly isPostpaid?: boolean | undefined;
  readonly caps?: readonly CapLimit[] | undefined;
  /** Fails with `changed` if anything was changed since this revision. */
  readonly sinceRevision?: number | undefined;
}

export interface IssuedKey {
  readonly key: KeyRecord;
  /** The whole key. Only its hash is stored, so this is the only time it is available. */
  readonly secret: string;
}

export async function issueKey(store: Store, clock: Clock, spec: KeySpec): Promise<IssuedKey> {
  const secret = newSecret();
  const id = spec.id ?? newId("key_");
  const key: KeyRecord = {
    ...unsetAttributes,
    period: spec.mode === "token_budget" ? "month" : "none",
    ...attributesOf(spec),
    id,
    accountId: spec.accountId ?? ownAccountId(id),
    isPostpaid: spec.isPostpaid ?? false,
    isClosed: false,
    accountContent: null,
    accountTags: null,
    accountTpmLimits: null,
    caps: (spec.caps ?? []).map((cap) => ({ ...cap, no: 0, extra: 0, extraPeriodMs: 0 })),
    hash: hashSecret(secret),
    prefix: secret.slice(0, prefixLength),
    mode: spec.mode,
    status: "active",
    createdAtMs: clock.wallMs(),
    previousHash: null,
    previousUntilMs: null,
  };
  await store.insertKey(key, spec.creditNano ?? 0, spec.sinceRevision);
  return { key: (await store.findKey(id)) ?? key, secret };
}

/**
 * Issues a new secret for the same key. The old one works until the grace time is over; one from an earlier rotation
 * stops working now, because only the latest is stored.
 */
export async function rotateKey(
  store: Store,
  clock: Clock,
  key: KeyRecord,
  graceMs: number,
): Promise<IssuedKey> {
  const secret = newSecret();
  const rotated = await store.updateKey(key.id, {
    hash: hashSecret(secret),
    prefix: secret.slice(0, prefixLength),
    previousHash: graceMs > 0 ? key.hash : null,
    previousUntilMs: graceMs > 0 ? clock.wallMs() + graceMs : null,
  });
  return { key: rotated, secret };
}
