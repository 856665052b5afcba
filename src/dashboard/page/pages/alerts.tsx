import { useState } from "preact/hooks";
import type { AlertView } from "../../../admin/system/alert-schema.ts";
import { api, useAnswer } from "../api.ts";
import { count, moment } from "../format.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Card } from "../parts/card.tsx";
import { ask, type DialogProps } from "../parts/dialogs.tsx";
import { TextField } from "../parts/field.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { actionsColumn, type Column, Table } from "../parts/table.tsx";
import { hrefOf, modelHref } from "../router.ts";
import { wholeOrNull } from "./key-form.ts";

const shownCount = 10;

/** The page of what the alert is about. */
function placeOf({ kind, subject: { type, id } }: AlertView): string {
  if (kind === "batch_waiting") return hrefOf("batches");
  if (type === "key") return hrefOf(`keys/${id}`);
  if (type === "account") return hrefOf(`accounts/${id}`);
  if (type === "model") return modelHref(id);
  if (type === "cap") return hrefOf("accounts?near=0.8");
  return hrefOf(type === "provider" ? `models?vendor=${encodeURIComponent(id)}&listed=all` : "system");
}

const tones: Readonly<Record<AlertView["severity"], Tone>> = {
  critical: "bad",
  warning: "warn",
  info: "info",
};

function useAlerts() {
  return useAnswer<{ data: AlertView[] }>("/alerts", 5000);
}

function Alert({ alert }: { alert: AlertView }) {
  return (
    <li class="line">
      <Badge tone={tones[alert.severity]}>{alert.severity}</Badge>
      <a href={placeOf(alert)}>{alert.text}</a>
      {alert.since && <small class="muted">since {moment(alert.since)}</small>}
      {alert.last_error && <small class="muted">“{alert.last_error}”</small>}
    </li>
  );
}

/** Active alerts, the most urgent first. Each stays until it is resolved or acknowledged. */
export function ActiveAlerts() {
  const alerts = (useAlerts().value?.data ?? []).filter(({ acknowledged }) => acknowledged === null);
  if (alerts.length === 0) return null;
  const rest = alerts.length - shownCount;
  return (
    <section class="card" aria-labelledby="needs-attention">
      <h2 id="needs-attention">
        <a href={hrefOf("alerts")}>Needs attention</a>
      </h2>
      <ul class="stack alerts" aria-live="polite">
        {alerts.slice(0, shownCount).map((alert) => (
          <Alert key={`${alert.kind} ${alert.subject.id} ${alert.text}`} alert={alert} />
        ))}
      </ul>
      {rest > 0 && (
        <p>
          <a href={hrefOf("alerts")}>and {count(rest)} more</a>
        </p>
      )}
    </section>
  );
}

const columns: readonly Column<AlertView>[] = [
  {
    name: "Alert",
    class: "lead message",
    cell: (alert) => <a href={placeOf(alert)}>{alert.text}</a>,
    note: ({ last_error: error }) => error && `“${error}”`,
  },
  { name: "Severity", cell: ({ severity }) => <Badge tone={tones[severity]}>{severity}</Badge> },
  { name: "Since", cell: ({ since }) => (since === null ? "–" : moment(since)) },
  { name: "Next", cell: ({ next }) => <code class="unbroken">{next}</code> },
];

const dayMs = 86_400_000;

function Acknowledge({ subject: { kind, text }, onClose }: DialogProps<AlertView>) {
  const days = useState("7");
  const send = async () => {
    const until = Date.now() + (wholeOrNull(days[0], "The number of days") ?? 0) * dayMs;
    await api.post("/alerts/ack", { kind, until: new Date(until).toISOString() });
  };
  const texts = { title: "Acknowledge", verb: "Acknowledge", done: "Acknowledged.", about: text };
  return (
    <Ask {...texts} onClose={onClose} send={send}>
      <p>
        This covers all alerts of the kind <code>{kind}</code>. They stay listed, and webhooks do not change.
      </p>
      <TextField label="Days" state={days} inputMode="numeric" required />
    </Ask>
  );
}

const actions = actionsColumn<AlertView>((alert) => (
  <ForAdmins>
    <Menu label={`Actions for ${alert.text}`}>
      <MenuItem onClick={ask(Acknowledge, alert)}>Acknowledge…</MenuItem>
    </Menu>
  </ForAdmins>
));

const acknowledgedColumn: Column<AlertView> = {
  name: "Acknowledged",
  class: "clip",
  cell: ({ acknowledged }) => acknowledged?.by,
  note: ({ acknowledged }) => acknowledged && `until ${moment(acknowledged.until)}`,
};

const pastColumns: readonly Column<AlertView>[] = [
  ...columns.slice(0, 3),
  { name: "Resolved", cell: ({ resolved_at: at }) => at && moment(at) },
];

function PastAlerts() {
  const past = useAnswer<{ data: AlertView[] }>("/alerts", 60_000, { past: "true" });
  return (
    <Card title="Past">
      <LoadedContent loaded={past} rows={2}>
        {({ data }) => (
          <Table
            rows={data}
            columns={pastColumns}
            keyOf={({ kind, subject, text, resolved_at: at }) => `${kind} ${subject.id} ${text} ${at}`}
            empty={<p class="muted pad">None was resolved within 90 days.</p>}
          />
        )}
      </LoadedContent>
    </Card>
  );
}

export function Alerts() {
  const alerts = useAlerts();
  return (
    <>
      <PageHead title="Alerts" about="What needs attention now, and what did before." />
      <LoadedContent loaded={alerts}>
        {({ data }) => {
          const [seen, active] = [true, false].map((is) =>
            data.filter((each) => (each.acknowledged !== null) === is),
          );
          return (
            <>
              <Card title="Active">
                <Table
                  rows={active ?? []}
                  columns={[...columns, actions]}
                  keyOf={({ kind, subject, text }) => `${kind} ${subject.id} ${text}`}
                  empty={<p class="muted pad">Nothing needs attention.</p>}
                />
              </Card>
              <Card title="Acknowledged">
                <Table
                  rows={seen ?? []}
                  columns={[...columns, acknowledgedColumn]}
                  keyOf={({ kind, subject, text }) => `${kind} ${subject.id} ${text}`}
                  empty={<p class="muted pad">None.</p>}
                />
              </Card>
            </>
          );
        }}
      </LoadedContent>
      <PastAlerts />
    </>
  );
}
