import { Argument } from "commander";
import { iso } from "../../../admin/moments.ts";
import type { AcknowledgedView } from "../../../admin/system/alert-schema.ts";
import { alertKindNames } from "../../../alerts/alert.ts";
import { expiry } from "../../arguments.ts";
import { requiredOption } from "../../help.ts";
import { operation } from "../../operations/operation-command.ts";

export const alertsAcknowledgeCommand = operation<AcknowledgedView, { kind: string; until: string }>({
  name: "ack",
  summary: "Acknowledge the alerts of a kind until a day",
  call: "POST /alerts/ack",
  fields: {
    kind: new Argument("<kind>", "the kind, as `sluice status` lists it").choices(alertKindNames),
    until: requiredOption("--until <when>", "how long, such as 30d, or a date", (text) => iso(expiry(text))),
  },
  examples: ["sluice alerts ack price_outdated --until 30d"],
  note: "The alerts stay in the list, with who acknowledged them. `sluice status --check` ignores them.",
  done: ({ kind, acknowledged }) => `${kind} is acknowledged until ${acknowledged.until}`,
});
