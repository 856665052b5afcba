import type { Elysia } from "elysia";
import { addressBlock } from "../../../limits/address.ts";
import type { AdminDeps } from "../../deps.ts";
import { bodyBytes } from "../../routes/check.ts";
import { answeringErrors } from "../../routes/mount.ts";
import { json, notFound, refusalResponse } from "../../routes/refusal.ts";
import { originInBrowser } from "../origin.ts";
import { beginGrant, codeSeconds, isSignInConfigured, pollSeconds } from "./device-grants.ts";
import { pollGrant } from "./device-keys.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const clientId = "sluice-cli";
const maxFormBytes = 4096;
const maxDeviceLength = 60;
/** How many codes one block of addresses can request per minute. */
const maxRequests = 10;

const metadataPath = "/.well-known/oauth-authorization-server";
const authorizationPath = "/oauth/device_authorization";
const tokenPath = "/oauth/token";
const verificationPath = "/usage/device";

type Form = ReadonlyMap<string, string>;
type Work = (request: Request, deps: AdminDeps) => Promise<Response> | Response;

/**
 * Mounts RFC 8628 (device authorization) and RFC 8414 (metadata), without authentication. They return 404 unless
 * sign-in is configured.
 */
export function mountDeviceFlow(app: Elysia, deps: AdminDeps): void {
  const guarded =
    (work: Work) =>
    ({ request }: { readonly request: Request }) => {
      if (!isSignInConfigured(deps.settings().admin))
        return refusalResponse(notFound("sign-in configured here"));
      return answeringErrors(deps, () => work(request, deps));
    };
  app.get(metadataPath, guarded(metadata));
  app.post(authorizationPath, guarded(authorize), { parse: "none" });
  app.post(tokenPath, guarded(issueToken), { parse: "none" });
}

function metadata(request: Request, deps: AdminDeps): Response {
  const issuer = ownOrigin(request, deps);
  return json({
    issuer,
    device_authorization_endpoint: `${issuer}${authorizationPath}`,
    token_endpoint: `${issuer}${tokenPath}`,
    grant_types_supported: [grantType],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ["none"],
  });
}

async function authorize(request: Request, deps: AdminDeps): Promise<Response> {
  const { address } = deps.originOf(request);
  const { allowed, retryAfterSeconds } = deps.guard.deviceRequests.take(addressBlock(address), maxRequests);
  if (!allowed)
    return tooMany("Too many codes were requested from this address. Try again later.", retryAfterSeconds);
  const form = await formOf(request);
  if (form === null) return invalidForm();
  if (form.get("client_id") !== clientId) return unknownClient();
  const grant = await beginGrant(deps, { address, device: deviceName(form.get("device_name")) });
  if (grant === null)
    return tooMany("Too many terminals are waiting for approval. Try again later.", pollSeconds);
  const uri = `${ownOrigin(request, deps)}${verificationPath}`;
  return json({
    device_code: grant.deviceCode,
    user_code: grant.userCode,
    verification_uri: uri,
    verification_uri_complete: `${uri}/${grant.userCode}`,
    expires_in: codeSeconds,
    interval: pollSeconds,
  });
}

async function issueToken(request: Request, deps: AdminDeps): Promise<Response> {
  const { address } = deps.originOf(request);
  const form = await formOf(request);
  if (form === null) return invalidForm();
  if (form.get("grant_type") !== grantType) {
    return oauthError("unsupported_grant_type", `The grant_type must be ${grantType}.`);
  }
  if (form.get("client_id") !== clientId) return unknownClient();
  const deviceCode = form.get("device_code");
  if (deviceCode === undefined) return oauthError("invalid_request", "`device_code` is missing.");
  const polled = await pollGrant(deps, deviceCode, address);
  if ("secret" in polled) return json({ access_token: polled.secret, token_type: "Bearer" });
  return rejectGuess(deps, address, polled.isUnknown) ?? oauthError(polled.error, polled.description);
}

/** A correct code is always accepted: other people may share the address, and a device code is too long to guess. */
function rejectGuess(deps: AdminDeps, address: string, isUnknown: boolean): Response | null {
  if (!isUnknown) return null;
  const { deviceGuesses } = deps.guard;
  const guesser = `device ${address}`;
  const waitSeconds = deviceGuesses.waitSeconds(guesser);
  if (waitSeconds > 0) return tooMany("Too many unknown device codes from this address.", waitSeconds);
  deviceGuesses.failed(guesser);
  return null;
}

function ownOrigin(request: Request, deps: AdminDeps): string {
  return originInBrowser(request, deps.originOf(request).isFromProxy, deps.settings().admin);
}

/** Null if a parameter occurs twice, which RFC 6749 forbids. */
async function formOf(request: Request): Promise<Form | null> {
  const pairs = [...new URLSearchParams(new TextDecoder().decode(await bodyBytes(request, maxFormBytes)))];
  const form = new Map(pairs);
  return form.size === pairs.length ? form : null;
}

/** Cleans the device's name. It is shown to the person who approves, so it must not look like anything but a name. */
function deviceName(text: string | undefined): string | null {
  const name =
    text
      ?.replaceAll(/[^\p{L}\p{N}._ -]/gu, "")
      .trim()
      .slice(0, maxDeviceLength) ?? "";
  return name === "" ? null : name;
}

function invalidForm(): Response {
  return oauthError("invalid_request", "Send each parameter once, as application/x-www-form-urlencoded.");
}

function unknownClient(): Response {
  return oauthError("invalid_client", `The client_id must be ${clientId}.`, 401);
}

function tooMany(description: string, waitSeconds: number): Response {
  const headers = { "retry-after": String(waitSeconds) };
  return json({ error: "slow_down", error_description: description }, 429, headers);
}

function oauthError(error: string, description: string, status = 400): Response {
  return json({ error, error_description: description }, status);
}
