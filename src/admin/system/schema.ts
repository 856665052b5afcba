import { type Static, Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import { modelUses } from "../../base/models/model-uses.ts";
import { count, counted, durationMs, moment, nullable, oneOf, text } from "../formats/shapes.ts";

export const auditView = Type.Object({
  id: Type.Integer(),
  at: moment,
  actor: text(
    "The signed-in person, `session …` or `token` (first token), `token LABEL` (other tokens), or `cli`; then `address` is the system user.",
  ),
  address: Type.String(),
  action: Type.String(),
  target: nullable(Type.String()),
  target_label: nullable(text("The current label of the changed key or account.")),
  detail: nullable(Type.String()),
});
export type AuditView = Static<typeof auditView>;

export const healthView = Type.Object({
  status: oneOf(["ok", "draining", "unhealthy"]),
  problem: nullable(
    Type.Object({
      reason: text("Why the gateway is not accepting requests."),
      advice: text("What to do."),
    }),
  ),
  version: Type.String(),
  address: text("Where clients reach this gateway, without the proxies in front of it."),
  data_folder: text("Its data folder."),
  uptime_seconds: Type.Number(),
  in_flight: count,
  event_loop_lag_ms: durationMs,
  memory_bytes: count,
});
export type HealthView = Static<typeof healthView>;

export const nodeView = Type.Object({
  node: Type.Integer({ description: "The node's number, never reused." }),
  name: Type.String(),
  version: Type.String(),
  /** `late`: it has missed its heartbeat for longer than its lease. `dead`: another node took over. */
  state: oneOf(["live", "late", "dead"]),
  since: moment,
  in_flight: count,
  holds: counted("Open holds of this node."),
  heartbeat_at: moment,
});
export type NodeView = Static<typeof nodeView>;

const bytes = Type.Integer({ minimum: 0 });

export const storageView = Type.Object({
  database_bytes: bytes,
  journal_bytes: nullable(counted("SQLite's write-ahead log; null for PostgreSQL.")),
  disk_free_bytes: nullable(bytes),
  response_bytes: counted("Size of stored responses."),
  retry_response_bytes: counted("Size of responses stored for idempotent retries."),
  file_bytes: counted("Size of the inputs and results of batches."),
  records: Type.Object({
    accounts: count,
    keys: count,
    ledger_entries: count,
    free_requests: counted("Requests without a charge; all others are ledger entries."),
    responses: count,
    retry_responses: counted("Responses to requests with an `Idempotency-Key`, stored for a day."),
    batches: count,
    files: counted("Inputs and results of batches."),
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
    result_days: Type.Number({ description: "Of batches, after their end." }),
    file_bytes_per_key: count,
  }),
  pruned: Type.Array(Type.Object({ what: oneOf(["requests", "responses"]), at: moment, count }), {
    description: "The last deletion by retention, for each kind of record.",
  }),
});
export type StorageView = Static<typeof storageView>;

export const routeView = Type.Object({
  method: Type.String(),
  path: Type.String(),
  mode: oneOf(keyModes),
  dialect: nullable(text("The dialect; null if the route does not generate text.")),
  operation: text("The operation id in /openapi.json."),
  use: nullable(oneOf(modelUses)),
});
export type RouteView = Static<typeof routeView>;
