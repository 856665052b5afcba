import { asCompared } from "../../config/admin.ts";
import type { AdminSettings } from "../../config/settings.ts";
import type { KeyRing } from "../../keys/keyring.ts";
import { hashSecret } from "../../keys/secret.ts";
import type { RateLimiter } from "../../limits/rate-limiter.ts";
import type { AdminRecords, AdminTokenRecord } from "../../store/store.ts";
import { actorName } from "./actor.ts";
import { isSameHash } from "./admin-token.ts";
import { type Caller, type Identity, type PersonIdentity, personOf } from "./identity.ts";
import type { Lockout } from "./lockout.ts";
import { foreignOrigin, isOwnOrigin } from "./origin.ts";
import { type Person, rolesOf, unseen } from "./person.ts";
import { mayHaveKeys, type Role, roleInCall } from "./roles.ts";
import type { Sessions } from "./sessions.ts";

/** Reads that take long. */
export type LimitedRead = "reports" | "documents";

/** Runs a caller's reads within their limits. */
export interface ReadGuard {
  run<Result>(caller: string, signal: AbortSignal, read: () => Promise<Result>): Promise<Result>;
}

/** Called with each person whom a proxy has signed in. */
export interface ProxySignInGuard {
  follow(person: PersonIdentity): Promise<void>;
}

/** Decides who may use the admin API. `tokenHash`, of the first token, is replaced when the configuration is reloaded. */
export interface Guard {
  tokenHash: string;
  readonly sessions: Sessions;
  readonly lockout: Lockout;
  readonly tokens: Pick<AdminRecords, "listTokens" | "tokenByHash">;
  readonly memberChanges: RateLimiter;
  /** Wrong device codes, by the person who typed them. */
  readonly deviceGuesses: Lockout;
  /** Requests for device codes, by address. */
  readonly deviceRequests: RateLimiter;
  /** Refreshes, by sign-in. */
  readonly refreshes: RateLimiter;
  readonly reads: Readonly<Record<LimitedRead, ReadGuard>>;
  readonly proxySignIns: ProxySignInGuard;
  settings(): AdminSettings;
}

export interface CallerAddress {
  readonly address: string;
  /** Whether the request came from a trusted proxy, whose user header counts. */
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
type RecognizedCaller = { readonly kind: "recognized"; readonly identity: Identity };

const cookieName = "sluice_session";

/**
 * Decides whether a request has the needed role; nothing else does. A change must also come from the dashboard's own
 * origin.
 */
export async function admit(
  guard: Guard,
  request: Request,
  origin: CallerAddress,
  needed: Role,
  changes: boolean,
): Promise<Verdict> {
  const recognized = await recognize(guard, request, origin);
  if (recognized.kind === "refused") return recognized;
  // Browsers attach cookies and proxy sign-ins to every request, so a page on a different site could have sent it.
  if (changes && !isOwnOrigin(request, guard.settings(), bearerOf(request) === null)) return foreign;
  const session = bearerOf(request) === null ? sessionOf(request) : null;
  const caller = await callerOf(guard, recognized.identity, session);
  if (caller === null) return notSignedIn;
  const role = roleInCall(caller.roles, needed, changes);
  if (role === null) return roleNeeded(caller.name, changes && caller.roles.has("viewer") ? "admin" : needed);
  const tooMany = changes && role === "member" ? tooManyChanges(guard, asCompared(caller.name)) : null;
  return tooMany ?? { kind: "admitted", caller: { ...caller, role } };
}

/** Changes per member and minute. Each is a transaction that others wait for, and a permanent line in the audit log. */
const maxChanges = 30;

/** Null if the member can make another change now. */
function tooManyChanges({ memberChanges }: Guard, member: string): RejectedAccess | null {
  const { allowed, retryAfterSeconds } = memberChanges.take(member, maxChanges);
  if (allowed) return null;
  const message = `More than ${maxChanges} changes in a minute. Retry in ${retryAfterSeconds} s.`;
  return refused(429, "too_many_changes", message, retryAfterSeconds);
}

/**
 * Admits a signed-in person to the self-service page. There everyone is a member, whatever their role, so that a proxy
 * which passes on that page does not pass on the admin API.
 */
export async function admitAsMember(
  guard: Guard,
  request: Request,
  origin: CallerAddress,
  changes: boolean,
): Promise<Verdict> {
  const verdict = await admit(guard, request, origin, "member", changes);
  if (verdict.kind === "refused") return verdict;
  return { kind: "admitted", caller: { ...verdict.caller, role: "member" } };
}

/** For long-lived responses: whether the request would still be admitted. */
export async function isStillAdmitted(
  guard: Guard,
  request: Request,
  origin: CallerAddress,
  needed: Role,
): Promise<boolean> {
  return (await admit(guard, request, origin, needed, false)).kind === "admitted";
}

/** A bearer token takes precedence over a session, and a session over a proxy's header. */
async function recognize(
  guard: Guard,
  request: Request,
  { address, isFromProxy }: CallerAddress,
): Promise<RecognizedCaller | RejectedAccess> {
  const bearer = bearerOf(request);
  if (bearer !== null) return tryToken(guard, bearer, address);
  const session = sessionOf(request);
  const found = session === null ? null : await guard.sessions.find(session);
  if (found !== null) return { kind: "recognized", identity: found.identity };
  const person = isFromProxy ? proxyUser(request, guard.settings()) : null;
  if (person === null) return notSignedIn;
  const identified = { kind: "person", issuer: null, ...person } as const;
  await guard.proxySignIns.follow(identified);
  return { kind: "recognized", identity: identified };
}

/**
 * The current permissions of an identity. Null for a revoked token or a removed identity provider. The roles of people
 * come from the running configuration.
 */
export async function callerOf(
  guard: Guard,
  identity: Identity,
  session: string | null,
): Promise<KnownCaller | null> {
  switch (identity.kind) {
    case "admin":
      return { roles: new Set(["admin"]), name: actorName(session), ...ownsNothing };
    case "token": {
      const all = await guard.tokens.listTokens();
      const token = all.find(({ id, revokedAtMs }) => id === identity.id && revokedAtMs === null);
      if (token === undefined) return null;
      return { roles: rolesOfToken(token, guard.settings()), name: `token ${token.label}`, ...ownsNothing };
    }
    case "person": {
      if (!isIssuerConfigured(identity, guard.settings())) return null;
      const held = rolesOf(identity, guard.settings());
      const { owner, owns } = memberOf(identity.user);
      const ownerOfNew = mayHaveKeys(held) ? owner : null;
      return { roles: held, name: identity.user, owner: ownerOfNew, owns, person: identity };
    }
  }
}

/** A token that a person signed in for has the role that it was issued with, as long as they have it. */
function rolesOfToken({ role, identity }: AdminTokenRecord, settings: AdminSettings): ReadonlySet<Role> {
  if (identity === null) return new Set([role]);
  const person = personOf(identity);
  const held = isIssuerConfigured(person, settings) ? rolesOf(person, settings) : new Set<Role>();
  if (held.has("admin")) return new Set([role]);
  return new Set(held.has("viewer") ? ["viewer"] : []);
}

/** An authenticated caller, before it is known which operation they call. */
type KnownCaller = Omit<Caller, "role"> & { readonly roles: ReadonlySet<Role> };

const ownsNothing: Pick<Caller, "owner" | "owns" | "person"> = {
  owner: null,
  owns: () => false,
  person: null,
};

/** Whether the identity provider, or the proxy, that signed the person in is still configured. */
export function isIssuerConfigured(
  { issuer }: PersonIdentity,
  { oidc, userHeader }: Pick<AdminSettings, "oidc" | "userHeader">,
): boolean {
  if (issuer === null) return userHeader !== null;
  return oidc !== null && issuerName(issuer) === issuerName(oidc.issuer);
}

/** Normalizes an issuer for comparison: Authentik's ends in a slash, others' do not, and operators write either. */
export function issuerName(issuer: string): string {
  return issuer.replace(/\/+$/, "");
}

export function memberOf(owner: string): Pick<Caller, "owner" | "owns"> {
  const name = asCompared(owner);
  return { owner, owns: (key) => key.owner !== null && asCompared(key.owner) === name };
}

/**
 * Admits a request that presents an API key on the self-service page instead of signing in. It can see this key only,
 * and change nothing.
 */
export function admitKey(
  { guard, keys }: { readonly guard: Guard; readonly keys: KeyRing },
  bearer: string,
  { address }: CallerAddress,
): Verdict {
  const waitSeconds = guard.lockout.waitSeconds(address);
  const shown = keys.find(bearer);
  if (shown !== null) {
    const owns: Caller["owns"] = ({ id }) => id === shown.id;
    return {
      kind: "admitted",
      caller: { role: "member", name: `key ${shown.prefix}`, owner: null, owns, person: null },
    };
  }
  if (waitSeconds > 0) return lockedOut(waitSeconds);
  guard.lockout.failed(address);
  return refused(401, "invalid_credentials", "Unknown key. Check that you pasted all of it.");
}

/**
 * Checks a token, as bearer or at sign-in; nothing else does. A correct token is always accepted, and the first one
 * even while the database is unavailable. It does not clear the failures of a locked address, because another client
 * may have caused them.
 */
export async function tryToken(
  guard: Guard,
  candidate: string,
  address: string,
): Promise<RecognizedCaller | RejectedAccess> {
  const waitSeconds = guard.lockout.waitSeconds(address);
  const identity = await identityOf(guard, candidate);
  if (identity !== null) {
    if (waitSeconds === 0) guard.lockout.succeeded(address);
    return { kind: "recognized", identity };
  }
  if (waitSeconds > 0) return lockedOut(waitSeconds);
  guard.lockout.failed(address);
  return refused(
    401,
    "invalid_credentials",
    "Wrong admin token. Use one that `sluice admin-tokens create` has printed, or the first one.",
  );
}

async function identityOf(guard: Guard, candidate: string): Promise<Identity | null> {
  const candidateHash = hashSecret(candidate);
  if (isSameHash(guard.tokenHash, candidateHash)) return { kind: "admin" };
  const token = await guard.tokens.tokenByHash(candidateHash);
  return token === null ? null : { kind: "token", id: token.id };
}

/** `Secure` only if the browser used TLS: on plain HTTP it would drop the cookies. */
export function sessionCookies(id: string, lengthMs: number, isSecure: boolean): string[] {
  return cookieTexts(id, Math.ceil(lengthMs / 1000), isSecure);
}

export function endedSessionCookies(isSecure: boolean): string[] {
  return cookieTexts("", 0, isSecure);
}

/** Two cookies, one for the dashboard and one for the self-service page, so that the clients' API never gets a session. */
function cookieTexts(value: string, maxAge: number, isSecure: boolean): string[] {
  const secure = isSecure ? "; Secure" : "";
  return ["/admin", "/usage"].map(
    (path) => `${cookieName}=${value}; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`,
  );
}

export function sessionOf(request: Request): string | null {
  const cookie = request.headers.get("cookie") ?? "";
  return /(?:^|;\s*)sluice_session=(slus_[0-9A-Za-z]{1,64})(?:;|$)/.exec(cookie)?.[1] ?? null;
}

export function bearerOf(request: Request): string | null {
  const header = request.headers.get("authorization");
  return /^bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? null;
}

const notSignedIn = refused(
  401,
  "invalid_credentials",
  "Sign in, or send the admin token as a bearer token.",
);
const foreign = refused(403, "foreign_origin", foreignOrigin);

function roleNeeded(name: string, needed: Role): RejectedAccess {
  const message = `You are signed in as ${name}; this needs the role \`${needed}\`, which an operator can assign.`;
  return refused(403, "role_needed", message);
}

function lockedOut(waitSeconds: number): RejectedAccess {
  const message = `Too many wrong tokens from this address. Retry in ${waitSeconds} s.`;
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
