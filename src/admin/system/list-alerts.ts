import { type Alert, kindOf, severityOf } from "../../alerts/alert.ts";
import { readAlerts } from "../../alerts/read-alerts.ts";
import type { OperationContext } from "../context.ts";
import { iso, isoOrNull } from "../moments.ts";
import type { AlertView } from "./alert-schema.ts";

/** The active alerts in the fields shared by the admin API, the dashboard and `--json`. */
export async function readAlertViews({ store, clock }: OperationContext): Promise<AlertView[]> {
  return (await readAlerts(store, clock.wallMs())).active.map(alertDocument);
}

export function alertDocument(alert: Alert): AlertView {
  const { kind, subject, level, sinceMs, text, details, lastError, acknowledged } = alert;
  return {
    kind,
    severity: severityOf(alert),
    subject,
    level,
    since: isoOrNull(sinceMs),
    text,
    details,
    last_error: lastError,
    next: kindOf(alert).next(alert),
    acknowledged:
      acknowledged === undefined ? null : { by: acknowledged.actor, until: iso(acknowledged.untilMs) },
  };
}
