import { asCompared } from "../../../config/admin.ts";
import type { SignIn } from "../../../store/store.ts";
import { endSignIns } from "../../access/end-sign-ins.ts";
import { personOf } from "../../access/identity.ts";
import type { Actor } from "../../audit.ts";
import { invalidInput, type OperationContext, OperationError } from "../../context.ts";
import { iso } from "../../moments.ts";
import type { RevokeBody, SignInView } from "./schema.ts";

/** The latest first, those that have ended among them. */
export async function listSignIns({ store }: OperationContext, person?: string): Promise<SignInView[]> {
  const found = (await store.admin.signIns.list()).filter((each) => isOf(each, person));
  const prefixes = new Map(
    (await store.admin.devices.listBoundKeys()).map(({ keyId, prefix }) => [keyId, prefix]),
  );
  return found.map((signIn) => ({
    id: signIn.id,
    person: signIn.name,
    client: signIn.client,
    device: signIn.device,
    address: signIn.address,
    key: prefixes.get(signIn.keyId) ?? null,
    began_at: iso(signIn.beganAtMs),
    used_at: iso(signIn.usedAtMs),
    ended_at: signIn.endedAtMs === null ? null : iso(signIn.endedAtMs),
    end_reason: signIn.endReason,
  }));
}

function isOf({ name }: Pick<SignIn, "name">, person: string | undefined): boolean {
  return person === undefined || asCompared(name) === asCompared(person);
}

/** Ends one sign-in, or all of a person. Returns how many had not ended. */
export async function revokeSignIns(
  context: OperationContext,
  { id, person }: RevokeBody,
  by: Actor,
): Promise<number> {
  if ((id === undefined) === (person === undefined)) throw invalidInput("pass a sign-in or a person");
  const all = await context.store.admin.signIns.list();
  const found = all.filter((each) => (id === undefined ? isOf(each, person) : each.id === id));
  if (found.length === 0) {
    throw new OperationError(
      "unknown_sign_in",
      `there is no sign-in ${id ?? `of ${person}`}; sluice sign-ins list`,
    );
  }
  const ids = found.filter(({ endedAtMs }) => endedAtMs === null).map((each) => each.id);
  return endSignIns(context, ids, "revoked", by);
}

/** Lets a person sign programs in again whose key was revoked: the next sign-in creates another key. */
export async function allowSignIns({ store }: OperationContext, person: string): Promise<number> {
  const { devices } = store.admin;
  const revoked = (await devices.listBoundKeys()).filter(
    ({ status, isForSignIns, identity }) =>
      isForSignIns && status === "revoked" && isOf({ name: personOf(identity).user }, person),
  );
  if (revoked.length === 0) {
    throw new OperationError(
      "not_allowed",
      `no key of ${person}'s sign-ins is revoked, so there is nothing to allow`,
    );
  }
  for (const { keyId } of revoked) await devices.unbindKey(keyId);
  return revoked.length;
}
