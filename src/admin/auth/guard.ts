import { asCompared } from "../../config/admin.ts";
import type { AdminSettings } from "../../config/settings.ts";
import type { KeyRing } from "../../keys/keyring.ts";
import { hashSecret } from "../../keys/secret.ts";
import type { RateLimiter } from "../../limits/rate-limiter.ts";
import type { AdminRecords, AdminTokenRecord, KeyRecord } from "../../store/store.ts";
import { actorName } from "./actor.ts";
import { isSameHash } from "./admin-token.ts";
import type { Caller, Identity, PersonIdentity } from "./identity.ts";
import type { Lockout } from "./lockout.ts";
import { foreignOrigin, isOwnOrigin } from "./origin.ts";
import { type Person, roleOf } from "./person.ts";
import { mayCall, type Role } from "./roles.ts";
import { type Sessions, sessionHours } from "./sessions.ts";

/** Runs a caller's reports within their limits. */
export interface ReportGuard {
  run<Result>(caller: string, signal: AbortSignal, report: () => Promise<Result>): Promise<Result>;
}

/** Decides who may use the admin API. `tokenHash`, of the first token, is replaced when the configuration is reloaded. */
export interface Guard {
  tokenHash: string;
  readonly sessions: Sessions;
  readonly lockout: Lockout;
  readonly tokens: Pick<AdminRecords, "listTokens">;
  readonly memberChanges: RateLimiter;
  /** Wrong codes of terminals, by who tried them. */
  readonly deviceGuesses: Lockout;
  /** Terminals that ask for a code, by their address. */
  readonly deviceRequests: RateLimiter;
  readonly reports: ReportGuard;
  settings(): AdminSettings;
}

export interface Origin {
  readonly address: string;
  /** Whether a trusted proxy sent it, whose word about the user counts. */
  readonly isFromProxy: boolean;
}

export interface RejectedAccess {
  readonly kind: "refused";
  readonly status: 401 | 403 | 429;
  readonly code: "invalid_credentials" | "foreign_origin" | "role_needed" | "locked_out" | "too_many_changes";
  readonly message: string;
  /** Above 0 only for 429. */
  readonly waitSeconds: number;
}

type Verdict = { readonly kind: "admitted"; readonly caller: Caller } | RejectedAccess;
type Recognized = { readonly kind: "recognized"; readonly identity: Identity };

const cookieName = "sluice_session";

/** The one place that decides whether a request may have what needs this role. A change must also come from our own page. */
export async function admit(
  guard: Guard,
  request: Request,
  origin: Origin,
  needed: Role,
  changes: boolean,
): Promise<Verdict> {
  const recognized = await recognize(guard, request, origin);
  if (recognized.kind === "refused") return recognized;
  // Cookies and a proxy's sign-in come along by themselves, so another site's page might be asking.
  if (changes && !isOwnOrigin(request, guard.settings(), bearerOf(request) === null)) return foreign;
  const session = bearerOf(request) === null ? sessionOf(request) : null;
  const caller = await callerOf(guard, recognized.identity, session);
  if (caller === null) return notSignedIn;
  if (caller.role === null || !mayCall(caller.role, needed, changes)) {
    return roleNeeded(caller.name, changes && caller.role === "viewer" ? "admin" : needed);
  }
  const tooMany = changes && caller.role === "member" ? tooManyChanges(guard, asCompared(caller.name)) : null;
  return tooMany ?? { kind: "admitted", caller: { ...caller, role: caller.role } };
}

/** Per member and minute. Each change is a transaction that others wait for, and a line in a log that is kept for ever. */
const maxChanges = 30;

/** Null while they may change something. */
function tooManyChanges({ memberChanges }: Guard, member: string): RejectedAccess | null {
  const { allowed, retryAfterSeconds } = memberChanges.take(member, maxChanges);
  if (allowed) return null;
  const message = `That is more than ${maxChanges} changes in a minute; wait ${retryAfterSeconds} s.`;
  return refused(429, "too_many_changes", message, retryAfterSeconds);
}

/** For answers that last: whether the request would still be admitted. */
export async function isStillAdmitted(
  guard: Guard,
  request: Request,
  origin: Origin,
  needed: Role,
): Promise<boolean> {
  return (await admit(guard, request, origin, needed, false)).kind === "admitted";
}

/** A bearer token beats a session, which beats what a proxy says. */
async function recognize(
  guard: Guard,
  request: Request,
  { address, isFromProxy }: Origin,
): Promise<Recognized | RejectedAccess> {
  const bearer = bearerOf(request);
  if (bearer !== null) return tryToken(guard, bearer, address);
  const session = sessionOf(request);
  const identity = session === null ? null : await guard.sessions.find(session);
  if (identity !== null) return { kind: "recognized", identity };
  const person = isFromProxy ? proxyUser(request, guard.settings()) : null;
  return person === null
    ? notSignedIn
    : { kind: "recognized", identity: { kind: "person", issuer: null, ...person } };
}

/**
 * What an identity may do now. Null for a revoked token, or a person whose identity provider is no longer configured. People
 * get their role from the running configuration.
 */
export async function callerOf(
  guard: Guard,
  identity: Identity,
  session: string | null,
): Promise<(Omit<Caller, "role"> & { readonly role: Role | null }) | null> {
  switch (identity.kind) {
    case "admin":
      return { role: "admin", name: actorName(session), ...seesAll };
    case "token": {
      const token = await tokenWhere(guard, ({ id }) => id === identity.id);
      return token === undefined ? null : { role: token.role, name: `token ${token.label}`, ...seesAll };
    }
    case "person": {
      if (!isIssuerRequested(identity, guard.settings())) return null;
      const role = roleOf(identity, guard.settings());
      const own = role === "member" ? memberOf(identity.user) : seesAll;
      return { role, name: identity.user, ...own, person: identity };
    }
  }
}

const seesAll: Pick<Caller, "owner" | "owns" | "person"> = { owner: null, owns: () => true, person: null };

/** Whether the provider that signed them in is still configured. */
export function isIssuerRequested({ issuer }: PersonIdentity, { oidc }: AdminSettings): boolean {
  return issuer === null || issuer === oidc?.issuer;
}

export function memberOf(owner: string): Pick<Caller, "owner" | "owns"> {
  const name = asCompared(owner);
  return { owner, owns: (key) => key.owner !== null && asCompared(key.owner) === name };
}

/** For the self-service page, where a pasted key takes the place of a sign-in: it shows this key, no other, and changes nothing. */
export function admitKey(
  { guard, keys }: { readonly guard: Guard; readonly keys: KeyRing },
  request: Request,
  { address }: Origin,
): Verdict {
  const bearer = bearerOf(request);
  if (bearer === null) return refused(401, "invalid_credentials", "Send your key as a bearer.");
  const waitSeconds = guard.lockout.waitSeconds(address);
  const shown = keys.find(bearer);
  if (shown !== null) {
    const owns = ({ id }: KeyRecord) => id === shown.id;
    return {
      kind: "admitted",
      caller: { role: "member", name: `key ${shown.prefix}`, owner: null, owns, person: null },
    };
  }
  if (waitSeconds > 0) return lockedOut(waitSeconds);
  guard.lockout.failed(address);
  return refused(401, "invalid_credentials", "Unknown key. Check that you pasted all of it.");
}

async function tokenWhere(
  { tokens }: Guard,
  isIt: (token: AdminTokenRecord) => boolean,
): Promise<AdminTokenRecord | undefined> {
  return (await tokens.listTokens()).find((token) => token.revokedAtMs === null && isIt(token));
}

/**
 * The only place where a token is accepted, as a bearer or at sign-in. A correct token is always accepted, the first one even
 * while the database is unavailable. It does not clear the failures of a locked address: another client may have caused them.
 */
export async function tryToken(
  guard: Guard,
  candidate: string,
  address: string,
): Promise<Recognized | RejectedAccess> {
  const waitSeconds = guard.lockout.waitSeconds(address);
  const identity = await identityOf(guard, candidate);
  if (identity !== null) {
    if (waitSeconds === 0) guard.lockout.succeeded(address);
    return { kind: "recognized", identity };
  }
  if (waitSeconds > 0) return lockedOut(waitSeconds);
  guard.lockout.failed(address);
  return refused(401, "invalid_credentials", "That is not the admin token.");
}

async function identityOf(guard: Guard, candidate: string): Promise<Identity | null> {
  const candidateHash = hashSecret(candidate);
  if (isSameHash(guard.tokenHash, candidateHash)) return { kind: "admin" };
  const token = await tokenWhere(guard, ({ hash }) => hash === candidateHash);
  return token === undefined ? null : { kind: "token", id: token.id };
}

/** `Secure` only if the browser used TLS: on plain HTTP it would drop the cookie. */
export function sessionCookie(id: string | null, isSecure: boolean): string {
  const age = id === null ? 0 : sessionHours * 3600;
  const secure = isSecure ? "; Secure" : "";
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

const notSignedIn = refused(401, "invalid_credentials", "Sign in, or send the admin token as a bearer.");
const foreign = refused(403, "foreign_origin", foreignOrigin);

function roleNeeded(name: string, needed: Role): RejectedAccess {
  const message = `You are signed in as ${name}; this needs the role \`${needed}\`, which an operator can give you.`;
  return refused(403, "role_needed", message);
}

function lockedOut(waitSeconds: number): RejectedAccess {
  const message = `Too many wrong tokens from this address; wait ${waitSeconds} s before you try another.`;
  return refused(429, "locked_out", message, waitSeconds);
}

function refused(
  status: RejectedAccess["status"],
  code: RejectedAccess["code"],
  message: string,
  waitSeconds = 0,
): RejectedAccess {
  return { kind: "refused", status, code, message, waitSeconds };
}

/** Trimmed away or not seen, these would make one name another. */
const unseen = /^\s|\s$|\p{C}/u;

/**
 * The person whom a trusted proxy has signed in; null if it names none. The caller has checked that the request comes from such
 * a proxy. A header that was sent twice arrives as a list. The client may have sent one of the values, so a list counts as
 * not signed in.
 */
function proxyUser(request: Request, { userHeader, groupsHeader }: AdminSettings): Person | null {
  if (userHeader === null) return null;
  const user = request.headers.get(userHeader) ?? "";
  if (user === "" || /[,;\s\p{C}]/u.test(user)) return null;
  const groups = groupsHeader === null ? "" : (request.headers.get(groupsHeader) ?? "");
  return {
    user,
    groups: groups.split(/[ \t]*,[ \t]*/).filter((group) => group !== "" && !unseen.test(group)),
  };
}
