import { type Static, Type } from "@sinclair/typebox";
import { asCompared } from "../../config/admin.ts";
import type { AdminTokenRecord } from "../../store/store.ts";
import type { ListedSession, Session, Sessions } from "../access/sessions.ts";
import type { OperationContext } from "../context.ts";
import { body, counted, listOf, moment, nullable, text } from "../formats/shapes.ts";
import { iso } from "../moments.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { revokeAdminToken } from "./admin-tokens.ts";

const sessionListView = Type.Object({
  name: text("The signed-in person, `token` (first token) or `token LABEL`."),
  issuer: nullable(text("The identity provider that signed the person in; null for a token.")),
  began_at: moment,
  ends_at: moment,
});
export type SessionListView = Static<typeof sessionListView>;

const endSessionsBody = body({
  person: Type.String({ minLength: 1, description: "The person, as in the list." }),
  tokens: Type.Boolean({
    default: false,
    description: "Also revokes the admin tokens that the person created.",
  }),
});

const sessionsEndedView = Type.Object({
  person: Type.String(),
  sessions: counted("How many sessions ended."),
  tokens: Type.Array(Type.String(), { description: "Labels of the admin tokens that were revoked." }),
});
export type SessionsEndedView = Static<typeof sessionsEndedView>;

export const sessionRoutes: readonly AdminRoute[] = [
  get("/sessions", "List who is signed in", { answers: listOf(sessionListView) }, async ({ deps }) => ({
    data: await sessionViews(deps, await deps.guard.sessions.list()),
  })),
  post(
    "/sessions/end",
    "End all sessions of a person",
    { body: endSessionsBody, answers: sessionsEndedView },
    async ({ deps, body: { person, tokens } }) => {
      const { length } = await endSessionsOf(deps.guard.sessions, person);
      const revoked = tokens ? await revokeTokensOf(deps, person) : [];
      const answer: SessionsEndedView = { person, sessions: length, tokens: revoked };
      return { answer, change: { action: "session.end", target: person, detail: endDetail(answer) } };
    },
  ),
];

async function sessionViews(
  { store }: Pick<OperationContext, "store">,
  sessions: readonly ListedSession[],
): Promise<SessionListView[]> {
  const labels = new Map((await store.admin.listTokens()).map(({ id, label }) => [id, label]));
  return sessions.map(({ identity, beganAtMs, endsAtMs }) => ({
    name: identity.kind === "person" ? identity.user : tokenName(identity, labels),
    issuer: identity.kind === "person" ? identity.issuer : null,
    began_at: iso(beganAtMs),
    ends_at: iso(endsAtMs),
  }));
}

function tokenName(identity: Session["identity"], labels: ReadonlyMap<string, string>): string {
  return identity.kind === "token" ? `token ${labels.get(identity.id) ?? identity.id}` : "token";
}

function endSessionsOf(sessions: Pick<Sessions, "endWhere">, person: string): Promise<readonly Session[]> {
  return sessions.endWhere(
    ({ identity }) => identity.kind === "person" && asCompared(identity.user) === asCompared(person),
  );
}

/** Revokes the person's tokens and returns their labels. Sessions that were started with them end too. */
async function revokeTokensOf(context: OperationContext, person: string): Promise<string[]> {
  const isTheirs = ({ createdBy, revokedAtMs }: AdminTokenRecord) =>
    revokedAtMs === null && asCompared(createdBy) === asCompared(person);
  const tokens = (await context.store.admin.listTokens()).filter(isTheirs);
  for (const { id } of tokens) await revokeAdminToken(context, id);
  return tokens.map(({ label }) => label);
}

function endDetail({ sessions, tokens }: Pick<SessionsEndedView, "sessions" | "tokens">): string {
  const revoked = tokens.length === 0 ? "" : `; revoked ${tokens.join(", ")}`;
  return `${sessions} ended${revoked}`;
}
