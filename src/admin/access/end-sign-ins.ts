import type { SignIn, SignInEndReason } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";

/** Who ended it, for the audit log. */
export interface Ender {
  readonly actor: string;
  readonly address: string;
}

export const gatewayItself: Ender = { actor: "sign-in", address: "" };

/** Ends sign-ins on every gateway. Returns how many had not ended. */
export async function endSignIns(
  { store, clock }: OperationContext,
  ids: readonly string[],
  reason: SignInEndReason,
  ender: Ender = gatewayItself,
): Promise<number> {
  const ended = await store.admin.signIns.end(ids, reason, clock.wallMs());
  await auditEnds({ store, clock }, ended, ender);
  return ended.length;
}

export async function auditEnds(
  { store, clock }: OperationContext,
  ended: readonly SignIn[],
  ender: Ender,
): Promise<void> {
  for (const signIn of ended) {
    const detail = `${describe(signIn)}: ${endTexts[signIn.endReason ?? "revoked"]}`;
    const change = { action: "sign_in.end", target: signIn.id, detail };
    await store.admin.appendAudit({ atMs: clock.wallMs(), ...ender, ...change });
  }
}

export async function endSignInsOf(
  context: OperationContext,
  person: string,
  reason: SignInEndReason,
  ender: Ender = gatewayItself,
): Promise<number> {
  const open = (await context.store.admin.signIns.list(person)).filter(({ endedAtMs }) => endedAtMs === null);
  return endSignIns(
    context,
    open.map(({ id }) => id),
    reason,
    ender,
  );
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
