import type { AdminToken } from "./admin-token.ts";
import type { Lockout } from "./lockout.ts";
import { isOwnOrigin } from "./origin.ts";
import { type Sessions, sessionHours } from "./sessions.ts";

/** Decides who may use the admin API. `token` is replaced when the configuration is reloaded. */
export interface Guard {
  token: AdminToken;
  readonly sessions: Sessions;
  readonly lockout: Lockout;
}

export type Actor = "session" | "token";

interface Admitted {
  readonly kind: "admitted";
  readonly actor: Actor;
}

export interface RefusedAccess {
  readonly kind: "refused";
  readonly status: 401 | 403 | 429;
  readonly message: string;
  /** Above 0 only for 429. */
  readonly waitSeconds: number;
}

type Verdict = Admitted | RefusedAccess;

const cookieName = "sluice_session";

/** `changes`: whether the request changes something, in which case its origin is checked. */
export async function admit(
  guard: Guard,
  request: Request,
  address: string,
  changes: boolean,
): Promise<Verdict> {
  const bearer = bearerOf(request);
  if (bearer !== null) {
    const verdict = tryToken(guard, bearer, address);
    if (verdict.kind === "refused" || !changes || isOwnOrigin(request, false)) return verdict;
    return foreign;
  }
  const session = sessionOf(request);
  if (session === null || !(await guard.sessions.isOpen(session))) {
    return refused(401, "Sign in, or send the admin token as a bearer.");
  }
  if (changes && !isOwnOrigin(request, true)) return foreign;
  return { kind: "admitted", actor: "session" };
}

/** For answers that last: whether the request would still be admitted. */
export async function isStillAdmitted(guard: Guard, request: Request): Promise<boolean> {
  const bearer = bearerOf(request);
  if (bearer !== null) return guard.token.matches(bearer);
  const session = sessionOf(request);
  return session !== null && (await guard.sessions.isOpen(session));
}

/**
 * The only place where a token admits anybody, by bearer or by sign-in. The right token is always accepted. It
 * does not clear the failures of a locked address: they may be those of another client.
 */
export function tryToken(guard: Guard, candidate: string, address: string): Verdict {
  const waitSeconds = guard.lockout.waitSeconds(address);
  if (guard.token.matches(candidate)) {
    if (waitSeconds === 0) guard.lockout.succeeded(address);
    return { kind: "admitted", actor: "token" };
  }
  if (waitSeconds > 0) return lockedOut(waitSeconds);
  guard.lockout.failed(address);
  return refused(401, "That is not the admin token.");
}

function lockedOut(waitSeconds: number): RefusedAccess {
  const message = `Too many wrong tokens from this address; wait ${waitSeconds} s before you try another.`;
  return refused(429, message, waitSeconds);
}

/** `Secure` only if the browser used TLS: on plain HTTP it would drop the cookie. */
export function sessionCookie(request: Request, id: string | null): string {
  const secure = request.headers.get("origin")?.startsWith("https:") ? "; Secure" : "";
  const age = id === null ? 0 : sessionHours * 3600;
  return `${cookieName}=${id ?? ""}; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`;
}

export function sessionOf(request: Request): string | null {
  const cookie = request.headers.get("cookie") ?? "";
  return /(?:^|;\s*)sluice_session=([0-9A-Za-z]{1,64})(?:;|$)/.exec(cookie)?.[1] ?? null;
}

function bearerOf(request: Request): string | null {
  const header = request.headers.get("authorization");
  return /^bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? null;
}

const foreign = refused(403, "A change must come from this gateway's own page.");

function refused(status: 401 | 403 | 429, message: string, waitSeconds = 0): RefusedAccess {
  return { kind: "refused", status, message, waitSeconds };
}
