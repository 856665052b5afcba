import { isObject } from "../../../base/json.ts";
import { printable } from "../../../base/text/printable.ts";
import type { AdminDeps } from "../../deps.ts";

/** A failed sign-in. The message is shown to the person, the cause is for the log. */
export class SignInRejected extends Error {
  readonly status: 401 | 503;

  constructor(status: 401 | 503, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

const askOperator = "Ask the operator of this gateway to check";

/** Why the provider's configuration could not be read. The operator learns from the cause which address was requested. */
export function discoveryFailure(reason: unknown, issuer: string): SignInRejected {
  const { code, status } = factsOf(reason);
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const error = new Error(`GET ${address} failed`, { cause: reason });
  if (code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED") {
    const message = `The identity provider reports a different issuer than \`admin.oidc.issuer\`. ${askOperator} its spelling.`;
    return new SignInRejected(503, message, error);
  }
  if (status !== null && status >= 400 && status < 500) {
    const message = `The identity provider does not know \`admin.oidc.issuer\` (${status}). ${askOperator} it, for example the name of the realm or tenant.`;
    return new SignInRejected(503, message, error);
  }
  const message = "The identity provider cannot be reached. Try again later, or sign in with a token.";
  return new SignInRejected(503, message, error);
}

/** Why the browser's return from the provider was not a sign-in. */
export function callbackFailure(error: unknown): SignInRejected {
  const { code, oauthError } = factsOf(error);
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR") {
    const message =
      oauthError === "access_denied"
        ? "The identity provider denied you access (access_denied). Ask its operator for access to this application, or use another account."
        : `The identity provider rejected this sign-in (${oauthError}). ${askOperator} the client's settings there.`;
    return new SignInRejected(401, message, error);
  }
  const rejection = credentialsRejection(code, oauthError);
  if (rejection !== null) {
    const message = `The identity provider rejects this gateway's credentials (${rejection}). ${askOperator} \`admin.oidc.client_id\` and \`client_secret\`.`;
    return new SignInRejected(503, message, error);
  }
  if (code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED") {
    const message = `The clocks of the identity provider and of this gateway differ by more than 30 seconds. ${askOperator} both.`;
    return new SignInRejected(401, message, error);
  }
  return new SignInRejected(401, "The identity provider sent an invalid response. Sign in again.", error);
}

/** How the provider said that the client's id or secret is wrong; null if it did not. */
function credentialsRejection(code: string | null, oauthError: string | null): string | null {
  if (oauthError === "invalid_client" || oauthError === "unauthorized_client") return oauthError;
  // Only the client's own credentials are challenged where a code is exchanged. The response's body is not read then.
  return code === "OAUTH_WWW_AUTHENTICATE_CHALLENGE" ? "WWW-Authenticate" : null;
}

interface FailureFacts {
  readonly code: string | null;
  readonly status: number | null;
  readonly oauthError: string | null;
}

/** The OpenID client's errors have these fields, in the error itself or in its cause. */
function factsOf(error: unknown): FailureFacts {
  const chain = [error, error instanceof Error ? error.cause : null];
  const find = <Value>(read: (from: Record<string, unknown>) => Value | null): Value | null => {
    for (const each of chain) {
      const found = typeof each === "object" && each !== null ? read(each as Record<string, unknown>) : null;
      if (found !== null) return found;
    }
    return null;
  };
  return {
    code: find(({ code }) => (typeof code === "string" ? code : null)),
    status: find(({ status }) => (typeof status === "number" ? status : null)),
    oauthError: find(({ error: name }) => (typeof name === "string" ? loggable(name) : null)),
  };
}

const maxLength = 300;

function loggable(text: string): string {
  return printable(text).slice(0, maxLength);
}

/** The messages of an error's chain, for the log. Other fields of the errors can contain claims of the person. */
export function causeText(error: unknown): string {
  const texts: string[] = [];
  for (let each = error; each instanceof Error && texts.length < 4; each = each.cause) {
    const { error: name, error_description: description } = each as {
      readonly error?: unknown;
      readonly error_description?: unknown;
    };
    const details = [name, description].filter((part) => typeof part === "string").join(": ");
    texts.push(details === "" ? each.message : `${each.message} (${details})`);
    texts.push(...timesIn(each.cause));
  }
  return loggable(texts.join("; "));
}

/** The moments that a token was rejected for, in seconds since 1970, so that the operator sees whose clock is wrong. */
function timesIn(cause: unknown): readonly string[] {
  if (!isObject(cause)) return [];
  const { claim, claims, now } = cause;
  if (typeof claim !== "string" || !isObject(claims) || typeof now !== "number") return [];
  return [`${claim} is ${Number(claims[claim])}, but the time here is ${now}`];
}

const minuteMs = 60_000;
const linesPerMinute = 20;
let reported = { sinceMs: Number.NEGATIVE_INFINITY, texts: new Set<string>() };

/** Logs a failure. Anyone can cause failures with any text, so each text is logged once a minute, and all up to a limit. */
export function reportFailure(
  { log, clock }: Pick<AdminDeps, "log" | "clock">,
  text: string,
  cause: unknown,
): void {
  const atMs = clock.monotonicMs();
  if (atMs - reported.sinceMs >= minuteMs) reported = { sinceMs: atMs, texts: new Set() };
  const { texts } = reported;
  if (texts.has(text) || texts.size >= linesPerMinute) return;
  texts.add(text);
  log.warn({ cause: causeText(cause) }, text);
}
