import type { AlertView } from "../../../admin/system/alert-schema.ts";
import { useAnswer } from "../api.ts";
import { count, moment } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import { hrefOf } from "../router.ts";

const shownCount = 10;

/** The page where the alert can be handled. */
function placeOf({ subject: { type, id } }: AlertView): string {
  if (type === "key") return hrefOf(`keys/${id}`);
  if (type === "account") return hrefOf(`accounts/${id}`);
  return hrefOf(type === "provider" || type === "model" ? "models" : "system");
}

/** Red only for what is wrong now: an old price list is information. */
function toneOf(alerts: readonly AlertView[]): string {
  const has = (wanted: AlertView["severity"]) => alerts.some(({ severity }) => severity === wanted);
  return has("critical") ? "bad" : has("warning") ? "warn" : "info";
}

/** Active alerts, the most urgent first. Each stays until it is resolved. */
export function ActiveAlerts() {
  const loaded = useAnswer<{ data: AlertView[] }>("/alerts", 5000);
  const alerts = loaded.value?.data ?? [];
  if (alerts.length === 0) return null;
  const rest = alerts.length - shownCount;
  return (
    <section class={`callout ${toneOf(alerts)}`} aria-labelledby="needs-attention">
      <Icon name="warning" />
      <div role="alert">
        <h2 id="needs-attention">Needs attention</h2>
        <ul>
          {alerts.slice(0, shownCount).map((alert) => (
            <li key={`${alert.kind} ${alert.subject.id} ${alert.text}`}>
              <a href={placeOf(alert)}>{alert.text}</a>
              {alert.since && <small> since {moment(alert.since)}</small>}
              {alert.last_error && <small> · “{alert.last_error}”</small>}
            </li>
          ))}
        </ul>
        {rest > 0 && (
          <p>
            and {count(rest)} more: run <code>sluice status</code>
          </p>
        )}
      </div>
    </section>
  );
}
