import { readFile } from "node:fs/promises";
import type { JsonObject } from "../../base/json.ts";
import { rememberIssuedSecret } from "../../base/secrets/secrets.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import { certificateProblem } from "../../wire/certificate-problem.ts";
import { collectResponse } from "../../wire/collect.ts";
import { sendOnce } from "../../wire/send-once.ts";
import type { Receiver, Transfer } from "../../wire/transfer.ts";
import { clockBehindMs } from "./clock-problem.ts";
import { CredentialUnavailable } from "./credential.ts";
import type { HeaderToken } from "./token-credential.ts";
import type { IssuedToken } from "./token-source.ts";

export interface TokenRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: JsonObject;
  /** For addresses that exist only on this machine, such as a cloud's metadata server. */
  readonly isLocal?: boolean;
}

export interface TokenResponse {
  readonly status: number;
  readonly text: string;
  /** The text as an object; empty if it is none. */
  readonly body: JsonObject;
  /** How far this machine's clock is behind the host's; 0 if its response has no `date`. */
  readonly clockBehindMs: number;
}

/** Calls a host that issues credentials. Rejects with a `CredentialUnavailable` if it cannot be reached. */
export async function callTokenHost(request: TokenRequest, signal: AbortSignal): Promise<TokenResponse> {
  const url = new URL(request.url);
  try {
    const answer = await collectResponse((receiver) => send(url, request, receiver), signal);
    return {
      status: answer.status,
      text: answer.text,
      body: parseObject(answer.text) ?? {},
      clockBehindMs: clockBehindMs(answer.head.get("date"), Date.now()),
    };
  } catch (cause) {
    throw new CredentialUnavailable(`${url.hostname}, which issues it, ${whyUnreachable(cause)}`, { cause });
  }
}

function send(url: URL, request: TokenRequest, receiver: Receiver): Transfer {
  const { method, isLocal = false } = request;
  const { body, type } = bodyOf(request);
  const headers: Record<string, string> = {
    accept: "application/json",
    "user-agent": "sluice",
    ...(type === null ? {} : { "content-type": type }),
    ...request.headers,
  };
  return sendOnce(url, { method, headers, body, isLocal }, receiver);
}

function bodyOf({ form, json }: TokenRequest): { body: string | null; type: string | null } {
  if (form !== undefined)
    return { body: new URLSearchParams({ ...form }).toString(), type: "application/x-www-form-urlencoded" };
  return json === undefined
    ? { body: null, type: null }
    : { body: JSON.stringify(json), type: "application/json" };
}

function whyUnreachable(cause: unknown): string {
  if (cause instanceof Error && cause.name === "TimeoutError") return "does not respond";
  const certificate = certificateProblem(cause);
  if (certificate !== null) return `cannot be trusted: its certificate ${certificate.message}`;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return `cannot be reached${code}`;
}

/** A token that a platform keeps up to date in a file. */
export async function readTokenFile(path: string, what: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    throw new CredentialUnavailable(`${what} cannot be read`, { cause });
  }
}

/** Assumed if a host does not state the lifetime of its token. */
const unstatedLifeSeconds = 300;

/** The token in an OAuth response (RFC 6749, 5.1), as a bearer token. */
export function bearerTokenIn(
  { body }: TokenResponse,
  moreHeaders: Readonly<Record<string, string>> = {},
): IssuedToken<HeaderToken> {
  const { access_token: token, expires_in: expiresIn } = body;
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw new CredentialUnavailable("the token host returned no token");
  }
  rememberIssuedSecret(token);
  const seconds = Number(expiresIn);
  const lifeMs = (seconds > 0 ? seconds : unstatedLifeSeconds) * 1000;
  return { token: { headers: { authorization: `Bearer ${token}`, ...moreHeaders } }, lifeMs };
}
