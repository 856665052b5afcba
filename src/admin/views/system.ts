import { type Static, Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import { count, durationMs, moment, nullable, oneOf } from "./shapes.ts";

export const auditView = Type.Object({
  id: Type.Integer(),
  at: moment,
  actor: Type.String({
    description:
      "`session …` for a sign-in to the dashboard, `token` for programs, `cli` for the command line, whose user stands in `address`.",
  }),
  address: Type.String(),
  action: Type.String(),
  target: nullable(Type.String()),
  detail: nullable(Type.String()),
});
export type AuditView = Static<typeof auditView>;

export const healthView = Type.Object({
  status: oneOf(["ok", "draining", "unhealthy"]),
  trouble: nullable(
    Type.Object({
      reason: Type.String({ description: "Why no new work is taken." }),
      advice: Type.String({ description: "What to do." }),
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
  /** `late`: it gave no sign of life for longer than its lease. `dead`: another node took over. */
  state: oneOf(["live", "late", "dead"]),
  since: moment,
  in_flight: count,
  holds: Type.Integer({ minimum: 0, description: "Open holds that it answers for." }),
  last_beat: moment,
});
export type NodeView = Static<typeof nodeView>;

export const routeView = Type.Object({
  method: Type.String(),
  path: Type.String(),
  mode: oneOf(keyModes),
  dialect: nullable(Type.String({ description: "The dialect that it generates in; null if it does not." })),
});
export type RouteView = Static<typeof routeView>;

const sessionView = Type.Object({ signed_in: Type.Boolean() });
export type SessionView = Static<typeof sessionView>;

export const signInBody = Type.Object(
  { token: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
);
export type SignInBody = Static<typeof signInBody>;

export const errorView = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    param: Type.Optional(Type.String()),
  }),
});
export type ErrorView = Static<typeof errorView>;
