import { hostname } from "node:os";
import { isObject, type JsonObject } from "../../base/json.ts";
import { abortAfter } from "../../base/loop/deadline.ts";
import { hasKeyForm } from "../../keys/secret.ts";
import { CommandError } from "../terminal/terminal.ts";
import { directSession } from "./find-connection.ts";

/** The client side of RFC 8628. */

/** The gateway issues it a key; other clients are signed in. */
const keyClientId = "sluice-cli";
const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const metadataPath = "/.well-known/oauth-authorization-server";
const timeoutMs = 10_000;
const maxWaitSeconds = 900;
/** RFC 8628: by so much after each `slow_down`, and after a poll that got no response. */
const slowerBySeconds = 5;

export interface Endpoints {
  readonly authorization: string;
  readonly token: string;
  /** Null for a gateway that only issues keys. */
  readonly revocation: string | null;
}

export interface DeviceCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly uri: string;
  readonly completeUri: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/**
 * The endpoints must be on the gateway's own host: the key must not pass through a different one. `base` is an origin, with
 * `/token` for accounts with a token budget.
 */
export async function findEndpoints(base: string): Promise<Endpoints> {
  const { origin } = new URL(base);
  const metadata = await call(`${base}${metadataPath}`);
  rejectProxy(metadata, origin, metadataPath);
  if (metadata.status === 404) {
    throw new CommandError(`${base} has no sign-in for terminals; ask the operator for a key`);
  }
  const authorization = metadata.body["device_authorization_endpoint"];
  const token = metadata.body["token_endpoint"];
  if (metadata.status !== 200 || typeof authorization !== "string" || typeof token !== "string") {
    throw new CommandError(`${origin} is not a gateway that supports sluice login`);
  }
  const { issuer, revocation_endpoint: revocation } = metadata.body;
  if (issuer === base.replace(/^https:/, "http:") && issuer !== base) {
    throw new CommandError(
      `the gateway does not know that it is reached over https; its operator must set \`admin.public_url\` to ${origin}, or add the proxy to \`server.trusted_proxies\` and let it send X-Forwarded-Proto`,
    );
  }
  const named = [authorization, token, ...(typeof revocation === "string" ? [revocation] : [])];
  if (named.some((each) => URL.parse(each)?.origin !== origin)) {
    throw new CommandError(
      `${origin} redirects sign-ins to ${String(issuer)}; run sluice login with that address`,
    );
  }
  return { authorization, token, revocation: typeof revocation === "string" ? revocation : null };
}

/** The endpoints for operators, also at a gateway whose members get no keys, and which therefore publishes no endpoints. */
export function operatorEndpoints(base: string): Endpoints {
  return {
    authorization: `${base}/oauth/device_authorization`,
    token: `${base}/oauth/token`,
    revocation: null,
  };
}

/** The sign-in page must be the gateway's own, because a browser opens it. */
export async function requestCode({ authorization }: Endpoints, clientId = keyClientId): Promise<DeviceCode> {
  const answer = await call(authorization, { client_id: clientId, device_name: hostname() });
  rejectProxy(answer, new URL(authorization).origin, new URL(authorization).pathname);
  const { status, body } = answer;
  const text = (name: string) => (typeof body[name] === "string" ? body[name] : "");
  const number = (name: string, otherwise: number) =>
    typeof body[name] === "number" ? body[name] : otherwise;
  if (status !== 200 || text("device_code") === "" || text("verification_uri") === "") {
    throw new CommandError(`the gateway issued no code: ${reasonIn(body, status)}`);
  }
  const userCode = text("user_code");
  if (!/^[\w-]{1,32}$/.test(userCode))
    throw new CommandError("the gateway issued a code that cannot be typed");
  const uri = ownPage(text("verification_uri"), authorization);
  return {
    deviceCode: text("device_code"),
    userCode,
    uri,
    completeUri: ownPage(text("verification_uri_complete") || uri, authorization),
    expiresInSeconds: Math.min(number("expires_in", maxWaitSeconds), maxWaitSeconds),
    intervalSeconds: Math.max(number("interval", 5), 1),
  };
}

/** The address as a browser writes it, with neither a name nor a password, which could pass for the host. */
function ownPage(text: string, endpoint: string): string {
  const page = URL.parse(text);
  const { origin } = new URL(endpoint);
  const isOwn = page !== null && /^https?:$/.test(page.protocol) && page.origin === origin;
  if (!isOwn || page.username !== "" || page.password !== "") {
    throw new CommandError(`the sign-in page is not at ${origin}, so it was not opened: ${text}`);
  }
  return page.href;
}

/** Waits until the person has decided. Returns the key. */
export async function waitForKey(endpoints: Endpoints, code: DeviceCode): Promise<string> {
  const key = (await waitForGrant(endpoints, code, keyClientId))["access_token"];
  if (typeof key === "string" && hasKeyForm(key)) return key;
  throw new CommandError("the gateway issued something that is not a Sluice key (slu_…)");
}

/** Polls until the person has decided. Returns what the token endpoint issued. */
export async function waitForGrant(
  { token }: Endpoints,
  code: DeviceCode,
  clientId: string,
): Promise<JsonObject> {
  const endsAtMs = performance.now() + code.expiresInSeconds * 1000;
  let intervalSeconds = code.intervalSeconds;
  while (performance.now() < endsAtMs) {
    await Bun.sleep(Math.min(intervalSeconds * 1000, endsAtMs - performance.now()));
    const form = { grant_type: grantType, client_id: clientId, device_code: code.deviceCode };
    const answer = await call(token, form).catch(() => unanswered);
    const isRestarting = answer.status >= 500 && !answer.isGateways;
    if (!isRestarting) rejectProxy(answer, new URL(token).origin, new URL(token).pathname);
    const { status, body } = answer;
    if (status === 200 && typeof body["access_token"] === "string") return body;
    if (body["error"] === "slow_down" || isRestarting || status === unanswered.status)
      intervalSeconds += slowerBySeconds;
    else if (body["error"] !== "authorization_pending") {
      throw new CommandError(
        `${clientId === keyClientId ? "no key was issued" : "not signed in"}: ${reasonIn(body, status)}`,
      );
    }
  }
  throw new CommandError("the code has expired; run sluice login again");
}

/** The gateway gives every response an id; an error without one is a proxy's, which does not pass this path. */
function rejectProxy({ isGateways, status }: Answer, origin: string, path: string): void {
  if (isGateways || status < 300) return;
  throw new CommandError(
    `${origin} responded to ${path} with status ${status}, unlike a Sluice gateway; a proxy in front of it must forward the paths in config/deploy/nginx.conf`,
  );
}

export interface Answer {
  readonly status: number;
  readonly isGateways: boolean;
  readonly body: JsonObject;
}

const unanswered: Answer = { status: 0, isGateways: false, body: {} };

/** Calls the gateway: with a form it is a POST. Redirects are not followed, so that nothing is sent elsewhere. */
export async function call(url: string, form?: Readonly<Record<string, string>>): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(url, {
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
      redirect: "manual",
      signal: abortAfter(timeoutMs),
      ...directSession(url),
    });
  } catch {
    throw new CommandError(`no response from ${new URL(url).origin}`);
  }
  const body: unknown = await response.json().catch(() => null);
  const isGateways = response.headers.get("x-request-id")?.startsWith("req_") === true;
  return { status: response.status, isGateways, body: isObject(body) ? body : {} };
}

function reasonIn(body: JsonObject, status: number): string {
  const { error_description: description, error } = body;
  if (typeof description === "string") return description;
  return typeof error === "string" ? error : `the gateway responded with status ${status}`;
}
