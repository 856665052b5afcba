import { type Static, Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import { modelUses } from "../../base/models/model-uses.ts";
import { roles } from "../auth/roles.ts";
import { body, count, counted, durationMs, flag, moment, nullable, oneOf, text } from "../routes/shapes.ts";

export const tokenRoles = ["admin", "viewer"] as const;

export const auditView = Type.Object({
  id: Type.Integer(),
  at: moment,
  actor: text(
    "Who signed in; `session …` and `token` for the first token, `token LABEL` for another, `cli` for the command line, whose user stands in `address`.",
  ),
  address: Type.String(),
  action: Type.String(),
  target: nullable(Type.String()),
  target_label: nullable(text("What the changed key or account is called today.")),
  detail: nullable(Type.String()),
});
export type AuditView = Static<typeof auditView>;

export const healthView = Type.Object({
  status: oneOf(["ok", "draining", "unhealthy"]),
  trouble: nullable(
    Type.Object({
      reason: text("Why the gateway is not accepting requests."),
      advice: text("What to do."),
    }),
  ),
  version: Type.String(),
  uptime_seconds: Type.Number(),
  in_flight: count,
  event_loop_lag_ms: durationMs,
  memory_bytes: count,
});
export type HealthView = Static<typeof healthView>;

export const nodeView = Type.Object({
  node: Type.Integer({ description: "Its number, which is never used again." }),
  name: Type.String(),
  version: Type.String(),
  /** `late`: it has missed its heartbeat for longer than its lease. `dead`: another node took over. */
  state: oneOf(["live", "late", "dead"]),
  since: moment,
  in_flight: count,
  holds: counted("Open holds that it answers for."),
  heartbeat_at: moment,
});
export type NodeView = Static<typeof nodeView>;

const bytes = Type.Integer({ minimum: 0 });

export const storageView = Type.Object({
  database_bytes: bytes,
  journal_bytes: nullable(counted("SQLite's write-ahead log; null for PostgreSQL, as is the disk.")),
  disk_free_bytes: nullable(bytes),
  response_bytes: counted("Of stored responses."),
  retry_response_bytes: counted("Of responses that are kept for retries."),
  records: Type.Object({
    accounts: count,
    keys: count,
    ledger_entries: count,
    free_requests: counted("Requests without a charge; all others are ledger entries."),
    responses: count,
    retry_responses: counted("Responses to requests with an `Idempotency-Key`, kept for a day."),
    audit_log: count,
  }),
  content: nullable(
    Type.Object(
      { requests: count, bytes: counted("On disk."), days: Type.Number(), max_bytes: count },
      { description: "Recorded content of requests; null if none is recorded." },
    ),
  ),
  retention: Type.Object({
    request_days: Type.Number(),
    request_rows: count,
    response_hours: Type.Number(),
    response_bytes_per_key: count,
  }),
  pruned: Type.Array(Type.Object({ what: oneOf(["requests", "responses"]), at: moment, count }), {
    description: "What was deleted last because its time was over, of each kind.",
  }),
});
export type StorageView = Static<typeof storageView>;

export const routeView = Type.Object({
  method: Type.String(),
  path: Type.String(),
  mode: oneOf(keyModes),
  dialect: nullable(text("The dialect that it generates in; null if it does not.")),
  operation: text("Its name in the OpenAPI document of clients."),
  use: nullable(oneOf(modelUses)),
});
export type RouteView = Static<typeof routeView>;

export const sessionView = Type.Object({
  signed_in: Type.Boolean(),
  name: nullable(Type.String()),
  role: nullable(oneOf(roles)),
  may_create_keys: Type.Boolean(),
  new_key: nullable(
    Type.Object(
      { account: text("The account that the key is billed to."), cap: nullable(Type.String()) },
      { description: "What a key gets that this person creates for themselves; null where they cannot." },
    ),
  ),
  reads_content: flag("Whether this person can read recorded content: all of it, or of their own keys."),
  oidc: flag("Whether people can sign in at `/admin/oidc/login`."),
});
export type SessionView = Static<typeof sessionView>;

export const signInBody = body({ token: Type.String({ minLength: 1 }) });
export type SignInBody = Static<typeof signInBody>;

export const adminTokenView = Type.Object({
  id: Type.String(),
  label: Type.String(),
  role: oneOf(tokenRoles),
  created_at: nullable(moment),
  revoked_at: nullable(moment),
});
export type AdminTokenView = Static<typeof adminTokenView>;

export const newAdminTokenBody = body({
  label: Type.String({ minLength: 1, maxLength: 100 }),
  role: oneOf(tokenRoles, "admin"),
});

export const issuedAdminTokenView = Type.Object({
  ...adminTokenView.properties,
  token: text("The secret. This answer is the only one that ever carries it."),
});
export type IssuedAdminTokenView = Static<typeof issuedAdminTokenView>;

export const errorView = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    param: Type.Optional(Type.String()),
  }),
});
export type ErrorView = Static<typeof errorView>;
