import { newId } from "../../../base/id.ts";
import { effectiveStatus } from "../../../keys/keyring.ts";
import type { KeyMode, KeyRecord } from "../../../store/store.ts";
import type { PersonIdentity } from "../../access/identity.ts";
import { mayHoldKeys, personName, refreshSignIn } from "../../access/lost-sign-ins.ts";
import { memberKeyTerms } from "../../access/person.ts";
import { findAccount } from "../../accounts/accounts.ts";
import { audit } from "../../audit.ts";
import { OperationError } from "../../context.ts";
import type { AdminDeps } from "../../deps.ts";
import { creationDetail } from "../../key-terms/change-detail.ts";
import { createKeyOn } from "../../keys/create-key.ts";
import { specFor } from "../../keys/members-key.ts";
import { untilUnchanged } from "../../until-unchanged.ts";

/**
 * All sign-ins of a person use one key, created at the first: with a key for each, signing in again would reset the
 * caps. Its secret is never issued: only access tokens give it.
 */

const label = "sign-in";

type Deps = Pick<AdminDeps, "store" | "clock" | "keys" | "settings" | "applyChanges">;

/** Throws if the person cannot sign a program in. Returns the mode of what they are billed by. */
export async function checkSignIn(deps: Deps, person: PersonIdentity): Promise<KeyMode> {
  const { admin } = deps.settings();
  const terms = memberKeyTerms(person, admin);
  if (terms === null || !mayHoldKeys(person, admin)) {
    throw new OperationError(
      "not_allowed",
      `you are signed in as ${person.user}, who cannot sign in programs here; ask an operator for \`member_keys\``,
    );
  }
  // Restores the key of someone who had lost their role, and has it again.
  await refreshSignIn(deps, person, admin);
  const key = await knownKey(deps, person);
  if (key === null) return (await findAccount(deps, terms.account)).mode;
  const status = effectiveStatus(key, deps.clock.wallMs());
  if (status === "revoked") {
    throw new OperationError(
      "not_allowed",
      `an operator revoked the key of your sign-ins (${key.prefix}); an admin can run \`sluice sign-ins allow ${person.user}\``,
    );
  }
  if (status !== "active") {
    throw new OperationError(
      "not_allowed",
      `the key of your sign-ins (${key.prefix}) is ${status}; ask an operator`,
    );
  }
  return key.mode;
}

async function knownKey(
  { store, keys, applyChanges }: Deps,
  person: PersonIdentity,
): Promise<KeyRecord | null> {
  const id = await store.admin.signIns.findKeyId(personName(person));
  if (id === null) return null;
  await applyChanges();
  return keys.byId(id);
}

/** The person's key, which is created if they have none. Several gateways may try at once. */
export async function signInKey(deps: Deps, person: PersonIdentity, address: string): Promise<KeyRecord> {
  const { store, keys, settings } = deps;
  const identity = JSON.stringify(person);
  const bound = { keyId: newId("key_"), person: personName(person), identity };
  const id = await store.admin.signIns.bindKey(bound);
  return untilUnchanged(store, async (sinceRevision) => {
    await deps.applyChanges();
    const known = keys.byId(id);
    if (known !== null) return known;
    const terms = memberKeyTerms(person, settings().admin);
    if (terms === null)
      throw new OperationError("not_allowed", `${person.user} is not allowed to have a key here`);
    const spec = { ...specFor(terms), id, label, owner: person.user, sinceRevision };
    const { key } = await createKeyOn(deps, spec, settings().named);
    const detail = [creationDetail(key, 0), "for sign-ins"].filter(Boolean).join(", ");
    const change = { action: "key.create", target: key.prefix, detail };
    await audit(deps, { actor: person.user, address }, change);
    await deps.applyChanges();
    return key;
  });
}
