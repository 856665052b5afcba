import { type Static, Type } from "@sinclair/typebox";
import { alertKindNames } from "../../alerts/alert.ts";
import { body, moment, nullable, oneOf, text } from "../formats/shapes.ts";

const acknowledged = Type.Object({
  by: text("Who acknowledged it, named as in the audit log."),
  until: moment,
});

export const alertView = Type.Object({
  kind: oneOf(alertKindNames),
  severity: oneOf(["critical", "warning", "info"] as const),
  subject: Type.Object({
    type: text("`provider`, `key`, `account`, `cap`, `model`, `store`, `node`, `ledger` or `configuration`."),
    id: Type.String(),
    label: text("Display name."),
  }),
  level: nullable(Type.Integer({ description: "80, 95 or 100 percent of a balance, budget or cap." })),
  since: nullable(moment),
  text: text("One sentence."),
  details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])),
  last_error: nullable(text("The provider's last error message. It is not sent to the webhook.")),
  next: text("The command to run next."),
  acknowledged: nullable(acknowledged),
  resolved_at: nullable(moment),
});
export type AlertView = Static<typeof alertView>;

export const acknowledgeBody = body({
  kind: oneOf(alertKindNames),
  until: Type.String({ format: "date-time", description: "When the acknowledgment ends." }),
});

export const acknowledgedView = Type.Object({ kind: oneOf(alertKindNames), acknowledged });
export type AcknowledgedView = Static<typeof acknowledgedView>;
