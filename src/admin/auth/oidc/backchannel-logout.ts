import type { Elysia } from "elysia";
import { bySignIn } from "../../access/end-sign-ins.ts";
import { audit } from "../../audit.ts";
import type { AdminDeps } from "../../deps.ts";
import { json, noSignInHere } from "../../formats/admin-error.ts";
import { bodyBytes } from "../../routes/check.ts";
import { answeringErrors } from "../../routes/mount.ts";
import { causeText, reportFailure } from "./failures.ts";
import { endsSession, type LogoutToken, tokenLifeMs } from "./logout-token.ts";
import { OidcSignIn } from "./sign-in.ts";

const path = "/admin/oidc/backchannel-logout";
const maxBytes = 16_384;

/** Receives the identity provider's notice that a person signed out or was locked out there, and ends their sessions here. */
export function mountBackchannelLogout(app: Elysia, deps: AdminDeps): void {
  const signIn = new OidcSignIn();
  app.post(path, ({ request }) => answeringErrors(deps, () => endSessions(deps, signIn, request)), {
    parse: "none",
  });
}

async function endSessions(deps: AdminDeps, signIn: OidcSignIn, request: Request): Promise<Response> {
  const { oidc } = deps.settings().admin;
  if (oidc === null) throw noSignInHere();
  const form = new URLSearchParams(new TextDecoder().decode(await bodyBytes(request, maxBytes)));
  const [text, ...others] = form.getAll("logout_token");
  if (text === undefined || others.length > 0) return rejected("Send `logout_token` once, as a form.");
  let token: LogoutToken;
  try {
    token = await signIn.readLogoutToken(oidc, text, deps.clock.wallMs());
  } catch (error) {
    reportFailure(deps, "a logout notice from the identity provider was rejected", error);
    return rejected(`The logout token is not valid: ${causeText(error)}.`);
  }
  const { sessions } = deps.guard;
  if (!(await sessions.spend(token.id, tokenLifeMs))) return rejected("This logout token was used already.");
  const ended = await sessions.endWhere((session) => endsSession(token, session));
  await recordEnd(
    deps,
    request,
    ended.map(({ identity }) => (identity.kind === "person" ? identity.user : "")),
  );
  return json({});
}

async function recordEnd(deps: AdminDeps, request: Request, people: readonly string[]): Promise<void> {
  const [person] = people;
  if (person === undefined) return;
  const { address } = deps.originOf(request);
  const detail = `${people.length} by the identity provider`;
  await audit(deps, { ...bySignIn, address }, { action: "session.end", target: person, detail });
}

function rejected(description: string): Response {
  return json({ error: "invalid_request", error_description: description }, 400);
}
