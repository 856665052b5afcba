import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey, jwtVerify } from "jose";
import { issuerName } from "../../access/guard.ts";
import type { ProviderSession, Session } from "../../access/sessions.ts";

/** OpenID Connect Back-Channel Logout 1.0: the provider's signed notice that a person was signed out there. */
export interface LogoutToken {
  readonly id: string;
  readonly issuer: string;
  /** Null if the token ends one session, by `sid`. */
  readonly subject: string | null;
  /** Null if the token ends all sessions of the person. */
  readonly sid: string | null;
}

const event = "http://schemas.openid.net/event/backchannel-logout";
/** Symmetric signatures are not accepted: the client secret is not a signing key. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const toleranceSeconds = 60;
const maxAgeSeconds = 300;

/** How long the id of a token must be remembered. */
export const tokenLifeMs = (maxAgeSeconds + 2 * toleranceSeconds) * 1000;

/** The issuer's signing keys, fetched when a token needs one that is not known. */
export function signingKeys(url: string, fetchKeys: (url: string) => Promise<Response>): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(url), { [customFetch]: (address) => fetchKeys(address) });
}

/** Throws unless the issuer signed this token for this gateway within the last minutes. */
export async function verifyLogoutToken(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, clientId }: { readonly issuer: string; readonly clientId: string },
  nowMs: number,
): Promise<LogoutToken> {
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer,
    audience: clientId,
    algorithms,
    clockTolerance: toleranceSeconds,
    maxTokenAge: maxAgeSeconds,
    requiredClaims: ["iat", "jti", "events"],
    currentDate: new Date(nowMs),
  });
  const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, "") ?? "jwt";
  if (type !== "logout+jwt" && type !== "jwt") throw new Error("the token has a different type");
  const { events, nonce, sub, sid, jti } = payload;
  if (typeof events !== "object" || events === null || !(event in events))
    throw new Error("the token is not a logout token: `events` does not name it");
  if (nonce !== undefined) throw new Error("a logout token has no nonce");
  const subject = typeof sub === "string" ? sub : null;
  const session = typeof sid === "string" ? sid : null;
  if (subject === null && session === null) throw new Error("the token has neither `sub` nor `sid`");
  return { id: `${issuer} ${jti}`, issuer, subject, sid: session };
}

/** Whether the token ends this session: with `sid` only this one, with only `sub` all sessions of the person. */
export function endsSession(token: LogoutToken, { provider }: Session): boolean {
  if (provider === null || issuerName(provider.issuer) !== issuerName(token.issuer)) return false;
  if (token.sid !== null && provider.sid !== null) return matchesSid(token, provider);
  return token.subject !== null && token.subject === provider.subject;
}

function matchesSid(token: LogoutToken, provider: ProviderSession): boolean {
  return token.sid === provider.sid && (token.subject === null || token.subject === provider.subject);
}
