import type { SignIn, SignInEndReason } from "../../store/store.ts";
import { type Actor, audit } from "../audit.ts";
import type { OperationContext } from "../context.ts";

/** What the gateway changes by itself because of a sign-in. */
export const bySignIn: Actor = { actor: "sign-in", address: "" };

/** Ends sign-ins on every gateway. Returns how many had not ended. */
export async function endSignIns(
  context: OperationContext,
  ids: readonly string[],
  reason: SignInEndReason,
  by: Actor = bySignIn,
): Promise<number> {
  const ended = await context.store.admin.signIns.end(ids, reason, context.clock.wallMs());
  await auditEnds(context, ended, by);
  return ended.length;
}

export async function auditEnds(
  context: OperationContext,
  ended: readonly SignIn[],
  by: Actor = bySignIn,
): Promise<void> {
  for (const signIn of ended) {
    const detail = `${describe(signIn)}: ${endTexts[signIn.endReason ?? "revoked"]}`;
    await audit(context, by, { action: "sign_in.end", target: signIn.id, detail });
  }
}

export async function endSignInsOf(
  context: OperationContext,
  person: string,
  reason: SignInEndReason,
): Promise<number> {
  const open = (await context.store.admin.signIns.list(person)).filter(({ endedAtMs }) => endedAtMs === null);
  const ids = open.map(({ id }) => id);
  return endSignIns(context, ids, reason);
}

export const endTexts: Readonly<Record<SignInEndReason, string>> = {
  signed_out: "signed out",
  revoked: "revoked by an operator",
  reused: "a refresh token was used twice",
  replaced: "replaced by newer sign-ins",
  no_role: "the person no longer has a role",
  key_revoked: "its key was revoked",
  unused: "not used for too long",
  too_old: "older than `max_age`",
};

/** E.g. `ada@example.com with Claude Code on laptop (10.0.0.7)`. */
export function describe({
  name,
  client,
  device,
  address,
}: Pick<SignIn, "name" | "client" | "device" | "address">): string {
  return `${name} with ${client ?? "a program"}${device === null ? "" : ` on ${device}`} (${address})`;
}
