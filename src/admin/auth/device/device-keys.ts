import type { IssuedKey } from "../../../keys/issue.ts";
import { hashSecret } from "../../../keys/secret.ts";
import type { DeviceGrant } from "../../../store/device-records.ts";
import { memberOf } from "../../access/guard.ts";
import { type Caller, type PersonIdentity, personOf } from "../../access/identity.ts";
import { mayHoldKeys } from "../../access/lost-sign-ins.ts";
import { audit } from "../../audit.ts";
import { OperationError } from "../../context.ts";
import type { AdminDeps } from "../../deps.ts";
import { creationDetail } from "../../key-terms/change-detail.ts";
import { createMembersKey } from "../../keys/members-key.ts";
import { beginSignIn } from "../sign-ins/begin.ts";
import type { TokenPair } from "../sign-ins/tokens.ts";
import { issueOperatorToken, type OperatorToken } from "./operator-token.ts";

/** The caller as a plain member: whatever their role, this flow creates a key of their own. */
export function ownCaller(person: PersonIdentity): Caller {
  return { role: "member", name: person.user, person, ...memberOf(person.user) };
}

/** Errors of RFC 8628 and RFC 6749 that a poll can return. */
export type PollError =
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token"
  | "invalid_grant";

interface RejectedPoll {
  readonly error: PollError;
  readonly description: string;
  /** The code was never issued or has expired long ago, so the client may be guessing. */
  readonly isUnknown: boolean;
}

export type PollResult = IssuedKey | TokenPair | OperatorToken | RejectedPoll;

/** Handles a terminal's poll: returns the key or the tokens once, or the reason why there are none. */
export async function pollGrant(
  deps: AdminDeps,
  deviceCode: string,
  purpose: DeviceGrant["purpose"],
  address: string,
): Promise<PollResult> {
  const { devices } = deps.store.admin;
  const deviceHash = hashSecret(deviceCode);
  const nowMs = deps.clock.wallMs();
  const grant = await devices.findByDevice(deviceHash);
  if (grant === null) return rejectedPoll("invalid_grant", "Unknown device code. Sign in again.", true);
  // Otherwise the access of an hour could become a lasting key.
  if (grant.purpose !== purpose)
    return rejectedPoll("invalid_grant", "This device code was requested by another kind of client.");
  if (grant.state === "used") return rejectedPoll("invalid_grant", "This device code was used already.");
  if (grant.endsAtMs <= nowMs) {
    return rejectedPoll("expired_token", "The code has expired. Sign in again.");
  }
  if (grant.state === "denied") return rejectedPoll("access_denied", "The request was denied on the page.");
  if (grant.state === "pending") {
    const isEarly = grant.polledAtMs !== null && nowMs - grant.polledAtMs < grant.intervalMs;
    await devices.recordPoll(deviceHash, nowMs, grant.intervalMs + (isEarly ? slowerByMs : 0));
    return isEarly
      ? rejectedPoll("slow_down", "Wait 5 more seconds between polls.")
      : rejectedPoll("authorization_pending", "The code has not been approved yet.");
  }
  const identity = await devices.claim(deviceHash, nowMs);
  if (identity === null) return rejectedPoll("invalid_grant", "This device code was used already.");
  const person = personOf(identity);
  try {
    if (grant.purpose === "operator") return await issueOperatorToken(deps, person, { ...grant, address });
    if (grant.purpose === "sign_in") return await beginSignIn(deps, person, { ...grant, address });
    return await issueTo(deps, person, { label: grant.device, address });
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return rejectedPoll("access_denied", error.message);
  }
}

/** RFC 8628: the interval of a terminal that polls too often grows by this. */
const slowerByMs = 5000;

function rejectedPoll(error: PollError, description: string, isUnknown = false): PollResult {
  return { error, description, isUnknown };
}

interface IssueTerms {
  readonly label: string | null;
  readonly address: string;
}

async function issueTo(
  deps: AdminDeps,
  person: PersonIdentity,
  { label, address }: IssueTerms,
): Promise<IssuedKey> {
  if (!mayHoldKeys(person, deps.settings().admin)) {
    throw new OperationError("not_allowed", `${person.user} can no longer have a key here; ask an operator`);
  }
  const issued = await createMembersKey(deps, ownCaller(person), label === null ? {} : { label });
  const { key } = issued;
  const detail = [creationDetail(key, 0), "by sluice login"].filter(Boolean).join(", ");
  const change = { action: "key.create", target: key.prefix, detail };
  await audit(deps, { actor: person.user, address }, change);
  return issued;
}
