import type { Elysia } from "elysia";
import { keyModes, modeOrigins } from "../../../base/key-attributes.ts";
import { addressBlock } from "../../../limits/address.ts";
import type { DeviceGrant } from "../../../store/device-records.ts";
import type { KeyMode } from "../../../store/store.ts";
import { originInBrowser } from "../../access/origin.ts";
import type { AdminDeps } from "../../deps.ts";
import { json, noSignInHere, refusalResponse } from "../../formats/admin-error.ts";
import { answeringErrors } from "../../routes/mount.ts";
import { refreshTokens } from "../sign-ins/refresh.ts";
import { revokeToken } from "../sign-ins/revoke.ts";
import type { TokenPair } from "../sign-ins/tokens.ts";
import { beginGrant, codeSeconds, isSignInConfigured, issuesKeys, pollSeconds } from "./device-grants.ts";
import { pollGrant } from "./device-keys.ts";
import { type Form, formOf, invalidForm, oauthError, rejectGuess, shownName, tooMany } from "./oauth-form.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const refreshGrant = "refresh_token";
/** These get a key and an admin token; every other client signs in. */
const keyClientId = "sluice-cli";
const operatorClientId = "sluice-operator";
/** Codes that one block of addresses can request per minute. */
const maxRequests = 10;

const metadataPath = "/.well-known/oauth-authorization-server";
const authorizationPath = "/oauth/device_authorization";
const tokenPath = "/oauth/token";
const revocationPath = "/oauth/revoke";
const verificationPath = "/usage/device";

interface Received {
  readonly request: Request;
  readonly mode: KeyMode;
}
type Work = (received: Received, deps: AdminDeps) => Promise<Response> | Response;

/**
 * Mounts RFC 8628 (device authorization), RFC 7009 (revocation) and RFC 8414 (metadata) on both origins, without
 * authentication. They return 404 unless sign-in and `member_keys` are configured; operators need no `member_keys`.
 */
export function mountDeviceFlow(app: Elysia, deps: AdminDeps): void {
  for (const mode of keyModes) {
    const guarded =
      (work: Work, isServed = issuesKeys) =>
      ({ request }: { readonly request: Request }) => {
        if (!isServed(deps.settings().admin)) return noKeys();
        return answeringErrors(deps, () => work({ request, mode }, deps));
      };
    const base = modeOrigins[mode];
    app.get(base + metadataPath, guarded(metadata));
    app.post(base + authorizationPath, guarded(authorize, isSignInConfigured), { parse: "none" });
    app.post(base + tokenPath, guarded(issueToken, isSignInConfigured), { parse: "none" });
    app.post(base + revocationPath, guarded(revoke), { parse: "none" });
  }
}

function noKeys(): Response {
  return refusalResponse(noSignInHere());
}

function metadata(received: Received, deps: AdminDeps): Response {
  const issuer = ownOrigin(received, deps) + modeOrigins[received.mode];
  return json({
    issuer,
    device_authorization_endpoint: `${issuer}${authorizationPath}`,
    token_endpoint: `${issuer}${tokenPath}`,
    revocation_endpoint: `${issuer}${revocationPath}`,
    grant_types_supported: [deviceGrant, refreshGrant],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
  });
}

async function authorize(received: Received, deps: AdminDeps): Promise<Response> {
  const { address } = deps.originOf(received.request);
  const { allowed, retryAfterSeconds } = deps.guard.deviceRequests.take(addressBlock(address), maxRequests);
  if (!allowed)
    return tooMany("Too many codes were requested from this address. Try again later.", retryAfterSeconds);
  const form = await formOf(received.request);
  if (form === null) return invalidForm();
  const purpose = purposeOf(form);
  if (purpose !== "operator" && !issuesKeys(deps.settings().admin)) return noKeys();
  const client = purpose === "sign_in" ? clientName(form) : null;
  const device = shownName(form.get("device_name"));
  const grant = await beginGrant(deps, { address, purpose, client, device, mode: received.mode });
  if (grant === null)
    return tooMany("Too many codes are waiting for approval. Try again later.", pollSeconds);
  const uri = `${ownOrigin(received, deps)}${verificationPath}`;
  return json({
    device_code: grant.deviceCode,
    user_code: grant.userCode,
    verification_uri: uri,
    verification_uri_complete: `${uri}/${grant.userCode}`,
    expires_in: codeSeconds,
    interval: pollSeconds,
  });
}

function purposeOf(form: Form): DeviceGrant["purpose"] {
  const client = form.get("client_id");
  if (client === operatorClientId) return "operator";
  return client === keyClientId ? "key" : "sign_in";
}

/** Claude Code sends no client id, but a surface. */
function clientName(form: Form): string | null {
  const surface = form.get("surface");
  return shownName(form.get("client_id") || (surface === "claude_code" ? "Claude Code" : surface));
}

async function issueToken({ request }: Received, deps: AdminDeps): Promise<Response> {
  const { address } = deps.originOf(request);
  const form = await formOf(request);
  if (form === null) return invalidForm();
  const grantType = form.get("grant_type");
  const isForOperator = grantType === deviceGrant && purposeOf(form) === "operator";
  if (!isForOperator && !issuesKeys(deps.settings().admin)) return noKeys();
  if (grantType === refreshGrant) return refresh(form, address, deps);
  if (grantType !== deviceGrant) {
    return oauthError("unsupported_grant_type", `The grant_type must be ${deviceGrant} or ${refreshGrant}.`);
  }
  const deviceCode = form.get("device_code");
  if (deviceCode === undefined) return oauthError("invalid_request", "`device_code` is missing.");
  const polled = await pollGrant(deps, deviceCode, purposeOf(form), address);
  if ("operatorToken" in polled)
    return json({ access_token: polled.operatorToken, token_type: "Bearer", role: polled.role });
  if ("secret" in polled) return json({ access_token: polled.secret, token_type: "Bearer" });
  if ("access" in polled) return tokensResponse(polled, deps);
  const guess = polled.isUnknown ? rejectGuess(deps, address) : null;
  return guess ?? oauthError(polled.error, polled.description);
}

async function refresh(form: Form, address: string, deps: AdminDeps): Promise<Response> {
  const presented = form.get("refresh_token");
  if (presented === undefined) return oauthError("invalid_request", "`refresh_token` is missing.");
  const result = await refreshTokens(deps, presented, address);
  switch (result.kind) {
    case "refreshed":
      return tokensResponse(result.pair, deps);
    case "unknown":
      return (
        rejectGuess(deps, address) ?? oauthError("invalid_grant", "Unknown refresh token. Sign in again.")
      );
    case "over":
      return oauthError("invalid_grant", result.text);
    case "too_many":
      return tooMany("This sign-in refreshes its tokens too often.", result.waitSeconds);
  }
}

/** The response has no `email`: Claude Code would ask whether it is the right one, with "no" as the default. */
function tokensResponse({ access, accessEndsAtMs, refresh }: TokenPair, { clock }: AdminDeps): Response {
  return json({
    access_token: access,
    token_type: "Bearer",
    expires_in: Math.max(0, Math.floor((accessEndsAtMs - clock.wallMs()) / 1000)),
    refresh_token: refresh,
  });
}

async function revoke({ request }: Received, deps: AdminDeps): Promise<Response> {
  const form = await formOf(request);
  if (form === null) return invalidForm();
  await revokeToken(deps, form.get("token") ?? "", deps.originOf(request).address);
  return json({});
}

function ownOrigin({ request }: Received, deps: AdminDeps): string {
  return originInBrowser(request, deps.originOf(request).isFromProxy, deps.settings().admin);
}
