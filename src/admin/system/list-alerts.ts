import { type Alert, kindOf, severityOf } from "../../alerts/alert.ts";
import { readAlerts } from "../../alerts/read-alerts.ts";
import type { OperationContext } from "../context.ts";
import { iso, isoOrNull } from "../moments.ts";
import type { AlertView } from "./alert-schema.ts";

/** The active alerts in the fields shared by the admin API, the dashboard and `--json`. */
export async function readAlertViews({ store, clock }: OperationContext): Promise<AlertView[]> {
  return (await readAlerts(store, clock.wallMs())).active.map(alertDocument);
}

const maxPast = 1_000;

/** Alerts that have ended, the latest first. */
export async function pastAlertViews({ store }: OperationContext): Promise<AlertView[]> {
  const past = await store.alerts.listPast(maxPast);
  return past.map(({ alert: text, beganAtMs, endedAtMs }) => {
    // Written by the monitor.
    const alert = JSON.parse(text) as Alert;
    const view = alertDocument({ ...alert, sinceMs: alert.sinceMs ?? beganAtMs });
    return { ...view, resolved_at: iso(endedAtMs) };
  });
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
    resolved_at: null,
  };
}
