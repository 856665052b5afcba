import { nanoPerCredit } from "../../base/money/money.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import { hashSecret, newSecret } from "../../keys/secret.ts";
import type { AccountRecord, KeyRecord } from "../../store/store.ts";
import { findAccount } from "../accounts/accounts.ts";
import { invalidInput, OperationError } from "../context.ts";
import type { AdminDeps } from "../deps.ts";
import { findKey } from "../key-terms/find-key.ts";
import { createKeyOn } from "../keys/create-key.ts";
import { untilUnchanged } from "../until-unchanged.ts";
import type { PlaygroundBody } from "./schema.ts";

const validMs = 3_600_000;
const creditLimit = 1;
/** A token budget has no price, so it gets what a credit buys of a common model. */
const tokenLimit = 100_000;

export interface OpenedPlayground {
  readonly secret: string;
  readonly key: KeyRecord;
  /** Set if the account had no key for the playground before. */
  readonly created: KeyRecord | null;
  /** Credits or tokens. */
  readonly limit: number;
  readonly endsAtMs: number;
}

/**
 * Issues a secret that stands for a key for an hour, so that the playground does not need the key's own secret, which
 * only its owner has.
 */
export async function issuePlaygroundSecret(
  deps: AdminDeps,
  chosen: PlaygroundBody,
): Promise<OpenedPlayground> {
  const { key, created } = await chosenKey(deps, chosen);
  const nowMs = deps.clock.wallMs();
  const status = effectiveStatus(key, nowMs);
  if (status !== "active") {
    throw new OperationError("wrong_status", `key ${key.label ?? key.prefix} is ${status}; choose another`);
  }
  const secret = newSecret();
  const isCredit = key.mode === "credit";
  const endsAtMs = nowMs + validMs;
  await deps.store.admin.playground.begin(
    {
      hash: hashSecret(secret),
      keyId: key.id,
      endsAtMs,
      amountLeft: isCredit ? creditLimit * nanoPerCredit : tokenLimit,
    },
    nowMs,
  );
  return { secret, key, created, limit: isCredit ? creditLimit : tokenLimit, endsAtMs };
}

type Chosen = Pick<OpenedPlayground, "key" | "created">;

async function chosenKey(deps: AdminDeps, { key, account }: PlaygroundBody): Promise<Chosen> {
  if (key !== undefined && account === undefined) return { key: await findKey(deps, key), created: null };
  if (account === undefined || key !== undefined) throw invalidInput("pass either a key or an account");
  return keyOfAccount(deps, await findAccount(deps, account));
}

/**
 * Every charge belongs to a key, so an account gets one for the playground. It is listed with the others, and an operator can cap or
 * disable it. Its own secret is never issued.
 */
async function keyOfAccount(deps: AdminDeps, account: AccountRecord): Promise<Chosen> {
  // The same for every administrator and gateway.
  const id = `key_${hashSecret(`playground ${account.id}`).slice(0, 22)}`;
  return untilUnchanged(deps.store, async (sinceRevision) => {
    const known = await deps.store.findKey(id);
    if (known !== null) return { key: known, created: null };
    const { key } = await createKeyOn(deps, { id, account: account.id, label: "Playground", sinceRevision });
    return { key, created: key };
  });
}
