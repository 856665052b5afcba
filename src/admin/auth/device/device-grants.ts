import { modeOrigins } from "../../../base/key-attributes.ts";
import { mintSecret } from "../../../base/secrets/mint-secret.ts";
import type { AdminSettings } from "../../../config/settings.ts";
import { hashSecret } from "../../../keys/secret.ts";
import { addressBlock } from "../../../limits/address.ts";
import type { DeviceGrant } from "../../../store/device-records.ts";
import type { KeyMode } from "../../../store/store.ts";
import type { Caller } from "../../access/identity.ts";
import { OperationError } from "../../context.ts";
import type { AdminDeps } from "../../deps.ts";
import { membersKey } from "../../keys/members-key.ts";
import { checkSignIn } from "../sign-ins/sign-in-key.ts";
import { ownCaller } from "./device-keys.ts";
import { operatorRole } from "./operator-token.ts";

/**
 * RFC 8628: a terminal shows a code, a signed-in person approves it on a page, and the terminal receives a key, or is
 * signed in.
 */

export const codeSeconds = 900;
export const pollSeconds = 5;
/** Maximum codes that wait for a decision, in total and for one block of addresses, so that no block uses up all. */
const maxGrants = 1_000;
const maxGrantsPerBlock = 50;
/** No vowels, so that no code spells a word, and no letters that look alike. */
const letters = "BCDFGHJKLMNPQRSTVWXZ";
const codeLength = 8;
const codeAttempts = 3;

/** Whether people can sign in. Programs that act in their name also need `member_keys`, unless they are operators. */
export function isSignInConfigured({ oidc, userHeader }: AdminSettings): boolean {
  return oidc !== null || userHeader !== null;
}

export function issuesKeys(settings: AdminSettings): boolean {
  return isSignInConfigured(settings) && settings.memberKeys.length > 0;
}

type Deps = Pick<AdminDeps, "store" | "clock" | "settings" | "keys">;

interface StartedGrant {
  readonly deviceCode: string;
  readonly userCode: string;
}

/** Issues a code. Null if too many are open. */
export async function beginGrant(
  { store, clock }: Deps,
  requester: Pick<DeviceGrant, "address" | "purpose" | "client" | "device" | "mode">,
): Promise<StartedGrant | null> {
  const createdAtMs = clock.wallMs();
  const times = { createdAtMs, endsAtMs: createdAtMs + codeSeconds * 1000 };
  // Ended grants are kept for a while, so that a late poll gets the reason.
  const forgetBeforeMs = createdAtMs - codeSeconds * 1000;
  const terms = {
    intervalMs: pollSeconds * 1000,
    max: maxGrants,
    maxPerBlock: maxGrantsPerBlock,
    forgetBeforeMs,
  };
  for (let attempt = 0; attempt < codeAttempts; attempt += 1) {
    const [deviceCode, userCode] = [`slud_${mintSecret(43)}`, newUserCode()];
    const grant = {
      ...requester,
      addressBlock: addressBlock(requester.address),
      ...times,
      deviceHash: hashSecret(deviceCode),
      userCode,
    };
    if (await store.admin.devices.begin(grant, terms)) return { deviceCode, userCode };
  }
  return null;
}

function newUserCode(): string {
  // Uniform: bytes from 240 on are not used, and 240 is a multiple of 20.
  const random: number[] = [];
  while (random.length < codeLength) {
    random.push(...crypto.getRandomValues(new Uint8Array(codeLength)).filter((byte) => byte < 240));
  }
  const code = random.slice(0, codeLength).map((byte) => letters.charAt(byte % letters.length));
  return `${code.slice(0, 4).join("")}-${code.slice(4).join("")}`;
}

/** Normalizes a typed code: people leave out the dash, use lower case or add blanks. */
function asUserCode(typed: string): string {
  const code = typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/**
 * Finds the request for a typed code. Each wrong code counts as a guess; the caller has checked that this person can
 * still guess.
 */
export async function findGrant(deps: AdminDeps, caller: Caller, typed: string): Promise<DeviceGrant> {
  const { deviceGuesses } = deps.guard;
  const grant = await deps.store.admin.devices.findPending(asUserCode(typed), deps.clock.wallMs());
  if (grant !== null) return grant;
  deviceGuesses.failed(caller.name);
  throw new OperationError(
    "unknown_code",
    "no program is waiting for this code: it is mistyped, used or older than 15 minutes; begin again there",
  );
}

/** A token is valid on the origin of the account's mode only. */
function rejectOtherMode(mode: KeyMode, grant: DeviceGrant, ownOrigin: string): void {
  if (mode === grant.mode) return;
  const what = mode === "credit" ? "credits" : "tokens";
  throw new OperationError(
    "not_allowed",
    `you are billed in ${what}, so sign in at ${ownOrigin}${modeOrigins[mode]}, not at ${ownOrigin}${modeOrigins[grant.mode]}`,
  );
}

/** Records the decision. A key that the person cannot have is rejected here, where they can read why. */
export async function decideGrant(
  deps: AdminDeps,
  caller: Caller,
  typed: string,
  state: "approved" | "denied",
  ownOrigin: string,
): Promise<DeviceGrant> {
  const { person } = caller;
  if (person === null) {
    throw new OperationError("not_allowed", "an admin token cannot approve this; sign in as yourself");
  }
  const grant = await findGrant(deps, caller, typed);
  if (state === "approved") {
    if (grant.purpose === "operator") operatorRole(person, deps.settings().admin);
    else if (grant.purpose === "key") await membersKey(deps, ownCaller(person), {});
    else rejectOtherMode(await checkSignIn(deps, person), grant, ownOrigin);
  }
  const decision = { state, identity: JSON.stringify(person), nowMs: deps.clock.wallMs() };
  if (!(await deps.store.admin.devices.decide(grant.userCode, decision))) {
    throw new OperationError(
      "unknown_code",
      "this code was just used or has expired; begin again in your terminal",
    );
  }
  deps.guard.deviceGuesses.succeeded(caller.name);
  return grant;
}
