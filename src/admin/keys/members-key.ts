import type { MemberKeyTerms } from "../../config/settings.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { Caller, PersonIdentity } from "../access/identity.ts";
import { personName } from "../access/lost-sign-ins.ts";
import { memberKeyTerms } from "../access/person.ts";
import { invalidInput, OperationError } from "../context.ts";
import type { AdminDeps } from "../deps.ts";
import { capFromText } from "../key-terms/cap-text.ts";
import type { NewKeyBody } from "../key-terms/schema.ts";
import { untilUnchanged } from "../until-unchanged.ts";
import { createKeyOn, type PaidKeySpec } from "./create-key.ts";

/** Each key has its own cap, so their number bounds what a person can spend. */
const maxKeys = 5;

let last: Promise<unknown> = Promise.resolve();

/** Creates members' keys one after the other, because parallel calls would not count each other's keys. */
function oneAtATime<Result>(make: () => Promise<Result>): Promise<Result> {
  const creating = last.then(make);
  last = creating.catch(() => undefined);
  return creating;
}

/** Creates a member's own key, which ends with their sign-in. */
export async function createMembersKey(
  deps: AdminDeps,
  caller: Caller,
  body: NewKeyBody,
): Promise<IssuedKey> {
  const { issued, person } = await oneAtATime(() =>
    untilUnchanged(deps.store, async (sinceRevision) => {
      await deps.applyChanges();
      const { person, ...spec } = await membersKey(deps, caller, body);
      return { person, issued: await createKeyOn(deps, { ...spec, sinceRevision }, deps.settings().named) };
    }),
  );
  const bound = { keyId: issued.key.id, person: personName(person), identity: JSON.stringify(person) };
  await deps.store.admin.devices.bindKey(bound);
  await deps.applyChanges();
  return issued;
}

/** The key that a member can create now, and the person whose sign-in it ends with: their own, on the account and with the cap that the operator configured. */
export async function membersKey(
  { keys, clock, settings, store }: Pick<AdminDeps, "keys" | "clock" | "settings" | "store">,
  { owner, owns, person }: Caller,
  { label, ...others }: NewKeyBody,
): Promise<PaidKeySpec & { readonly person: PersonIdentity }> {
  const terms = person === null ? null : memberKeyTerms(person, settings().admin);
  if (terms === null || owner === null || person === null) {
    throw new OperationError("not_allowed", "you cannot create keys here; ask an operator for one");
  }
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw invalidInput(`for your own key you can set only a label; remove \`${other}\``);
  }
  const nowMs = clock.wallMs();
  const active = [...keys.all()].filter((key) => owns(key) && effectiveStatus(key, nowMs) === "active");
  const bound = await store.admin.devices.findBoundKeys(active.map(({ id }) => id));
  if (active.length - bound.filter(({ isForSignIns }) => isForSignIns).length >= maxKeys) {
    throw new OperationError("not_allowed", `you have ${maxKeys} keys; rotate one of them instead`);
  }
  return { person, label: label ?? null, owner, ...specFor(terms) };
}

/** The configured attributes of a member's key. */
export function specFor({ account, cap: capText, models }: MemberKeyTerms): PaidKeySpec {
  const cap = capText === null ? null : capFromText(capText);
  const caps = cap === null ? {} : { caps: [cap] };
  return { account, ...caps, ...(models === null ? {} : { models }) };
}
