import { effectiveStatus } from "../../keys/keyring.ts";
import { StoreError } from "../../store/store.ts";
import type { Caller } from "../auth/identity.ts";
import { invalidInput, OperationError } from "../context.ts";
import type { AdminDeps } from "../deps.ts";
import { capFromText } from "./cap-text.ts";
import type { PaidKeySpec } from "./create-key.ts";
import type { NewKeyBody } from "./schema.ts";

/** Each key has its own cap, so their number bounds what a person can spend. */
const maxKeys = 5;

let last: Promise<unknown> = Promise.resolve();

/**
 * Creates members' keys one after the other, because parallel calls would not count each other's keys. If another
 * gateway changes anything after `make` has counted, it counts again.
 */
export function oneAtATime<Result>(make: () => Promise<Result>): Promise<Result> {
  const creating = last.then(() => unchanged(make));
  last = creating.catch(() => undefined);
  return creating;
}

async function unchanged<Result>(make: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== "changed") throw error;
    }
  }
}

/** The key that a member can create: their own, on the account and with the cap that the operator configured. */
export function membersKey(
  { keys, clock, settings }: Pick<AdminDeps, "keys" | "clock" | "settings">,
  { owner, owns }: Caller,
  { label, ...others }: NewKeyBody,
): PaidKeySpec {
  const allowed = settings().admin.memberKeys;
  if (allowed === null || owner === null) {
    throw new OperationError("not_allowed", "you may not make keys here; ask an operator for one");
  }
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw invalidInput(`for your own key you can set only a label; remove \`${other}\``);
  }
  const nowMs = clock.wallMs();
  const active = [...keys.all()].filter((key) => owns(key) && effectiveStatus(key, nowMs) === "active");
  if (active.length >= maxKeys) {
    throw new OperationError("not_allowed", `you have ${maxKeys} keys; rotate one of them instead`);
  }
  const cap = allowed.cap === undefined ? null : capFromText(allowed.cap);
  const caps = cap === null ? {} : { caps: [cap] };
  return { label: label ?? null, owner, account: allowed.account, ...caps };
}
