import { msPerDay } from "../../../base/clock.ts";
import { newId } from "../../../base/id.ts";
import { hashSecret } from "../../../keys/secret.ts";
import type { DeviceGrant } from "../../../store/device-records.ts";
import { auditEnds, describe } from "../../access/end-sign-ins.ts";
import type { PersonIdentity } from "../../access/identity.ts";
import { personName } from "../../access/lost-sign-ins.ts";
import { audit } from "../../audit.ts";
import type { AdminDeps } from "../../deps.ts";
import { checkSignIn, signInKey } from "./sign-in-key.ts";
import { accessOf, mintFirst, type TokenPair } from "./tokens.ts";

const maxPerPerson = 20;
/** Ended sign-ins are listed for as long. */
const keepEndedMs = 30 * msPerDay;

/** Signs a program in, once the person has approved it. */
export async function beginSignIn(
  deps: AdminDeps,
  person: PersonIdentity,
  { client, device, address }: Pick<DeviceGrant, "client" | "device" | "address">,
): Promise<TokenPair> {
  await checkSignIn(deps, person);
  const { store, clock } = deps;
  const { admin } = deps.settings();
  const key = await signInKey(deps, person, address);
  const nowMs = clock.wallMs();
  const { familyHash, ...pair } = mintFirst(admin.signIns, nowMs);
  const signIn = {
    id: newId("sgn_"),
    keyId: key.id,
    person: personName(person),
    name: person.user,
    client,
    device,
    address,
    beganAtMs: nowMs,
    usedAtMs: nowMs,
    access: [accessOf(pair)],
  };
  const forgetBeforeMs = nowMs - keepEndedMs - Math.max(admin.signIns.idleMs, admin.signIns.maxAgeMs);
  const terms = { maxPerPerson, forgetBeforeMs };
  const replaced = await store.admin.signIns.begin(
    { ...signIn, familyHash, refreshHash: hashSecret(pair.refresh) },
    terms,
  );
  await auditEnds(deps, replaced);
  const change = { action: "sign_in.begin", target: signIn.id, detail: describe(signIn) };
  await audit(deps, { actor: person.user, address }, change);
  await deps.applyChanges();
  return pair;
}
