import type { Elysia } from "elysia";
import { GatewayError } from "../../../base/errors.ts";
import { newId } from "../../../base/id.ts";
import { keyModes, modeOrigins } from "../../../base/key-attributes.ts";
import { nanoPerCredit } from "../../../base/money/money.ts";
import { renderError } from "../../../dialects/errors/envelope.ts";
import { clientDialect } from "../../../dialects/registry.ts";
import { signInOver } from "../../../gateway/admission/admit.ts";
import { tightestCap } from "../../../gateway/endpoints/usage-summary.ts";
import { hasKeyForm } from "../../../keys/secret.ts";
import { knownBounds } from "../../../ledger/bound-value-caps.ts";
import type { KeyMode, SignIn } from "../../../store/store.ts";
import { bearerOf } from "../../access/guard.ts";
import { personOf } from "../../access/identity.ts";
import type { AdminDeps } from "../../deps.ts";
import { json } from "../../formats/admin-error.ts";
import { managedSettingsFor } from "./managed-settings.ts";

interface AgentCall {
  readonly deps: AdminDeps;
  readonly request: Request;
  readonly signIn: SignIn;
}
type Answer = (call: AgentCall) => Promise<Response> | Response;

/** Routes that Claude Code calls besides the API, on both origins. They exist only for sign-ins: API keys get 404. */
export function mountAgentRoutes(app: Elysia, deps: AdminDeps): void {
  for (const mode of keyModes) {
    const base = modeOrigins[mode];
    const guarded =
      (answer: Answer) =>
      ({ request }: { readonly request: Request }) =>
        admitted(deps, mode, request, answer);
    app.get(`${base}/managed/settings`, guarded(managedSettings));
    app.get(`${base}/api/oauth/usage`, guarded(spend));
    for (const signal of ["metrics", "logs", "traces"])
      app.post(`${base}/v1/${signal}`, guarded(dropTelemetry), { parse: "none" });
  }
}

async function admitted(deps: AdminDeps, mode: KeyMode, request: Request, answer: Answer): Promise<Response> {
  try {
    const bearer = bearerOf(request) ?? "";
    await reloadSignIns(deps, request, bearer);
    if (deps.keys.find(bearer)?.mode !== mode) throw notSignedIn(deps, bearer);
    const token = deps.keys.signIns.ofToken(bearer);
    if (token === null)
      throw new GatewayError("not_found", "API keys cannot use this path. Sign in for an access token.");
    return await answer({ deps, request, signIn: token.signIn });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, headers, body } = renderError(
      clientDialect("messages").errorFormat,
      error,
      newId("req_"),
    );
    return new Response(body, { status, headers });
  }
}

/**
 * Reloads sign-ins, because another gateway may have issued the token a moment ago. An address that guesses tokens
 * causes no reload.
 */
async function reloadSignIns(
  { keys, guard, ...deps }: AdminDeps,
  request: Request,
  bearer: string,
): Promise<void> {
  if (!hasKeyForm(bearer) || keys.find(bearer) !== null || keys.signIns.ofToken(bearer) !== null) return;
  const guesser = `agent ${deps.originOf(request).address}`;
  if (guard.deviceGuesses.waitSeconds(guesser) > 0) return;
  await deps.applyChanges();
  if (keys.find(bearer) === null) guard.deviceGuesses.failed(guesser);
}

function notSignedIn({ keys }: AdminDeps, bearer: string): GatewayError {
  const token = keys.signIns.ofToken(bearer);
  if (token?.problem != null) return signInOver(token.problem);
  return new GatewayError("invalid_credentials", "Sign in, and send the access token as a bearer token.");
}

/** The checksum changes with the settings, so 304 is only for a client that has exactly these. */
async function managedSettings({ deps, request, signIn }: AgentCall): Promise<Response> {
  const [bound] = await deps.store.admin.devices.findBoundKeys([signIn.keyId]);
  const person = bound === undefined ? null : personOf(bound.identity);
  const document = person === null ? null : managedSettingsFor(person, deps.settings().admin);
  if (document === null) throw new GatewayError("not_found", "There are no managed settings for you.");
  const etag = `"${document.checksum}"`;
  if (request.headers.get("if-none-match") === etag) {
    const headers = { etag, "cache-control": "no-store", "x-request-id": newId("req_") };
    return new Response(null, { status: 304, headers });
  }
  return json(document, 200, { etag });
}

const nanoPerCent = nanoPerCredit / 100;

/** The tightest cap, as Claude Code's `/usage` shows it: in cents, where a credit is a dollar. */
async function spend({ deps, signIn }: AgentCall): Promise<Response> {
  const [summary] = await deps.accounts.summaries([signIn.keyId]);
  const key = await deps.store.findKey(signIn.keyId);
  const byValue = key && (await knownBounds(deps.store, key, deps.clock.wallMs()));
  const caps = [...(summary?.caps ?? []), ...(byValue ?? [])];
  const cap = summary?.mode === "credit" ? tightestCap({ caps }) : null;
  if (cap === null || cap.limit === null) throw new GatewayError("not_found", "You have no cap in credits.");
  return json({
    extra_usage: {
      is_enabled: true,
      monthly_limit: cap.limit / nanoPerCent,
      used_credits: cap.used / nanoPerCent,
      utilization: cap.limit === 0 ? 100 : Math.min(100, (cap.used / cap.limit) * 100),
      currency: "USD",
    },
  });
}

const maxTelemetryBytes = 16 * 1024 * 1024;

/** Accepted, because a client logs each rejection. */
async function dropTelemetry({ request }: AgentCall): Promise<Response> {
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxTelemetryBytes)
      throw new GatewayError("invalid_request", `Send at most ${maxTelemetryBytes} bytes at once.`);
  }
  return json({});
}
