import type { AuditView, HealthView, NodeView, Page } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { bytes, count, duration, moment, uptime } from "../format.ts";
import { useLoaded } from "../loaded.ts";
import { Badge } from "../parts/badge.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Warnings } from "../parts/warnings.tsx";

function HealthTiles({ health }: { health: HealthView }) {
  const facts: readonly Fact[] = [
    ["Version", health.version, "of Sluice"],
    ["State", health.status, health.status === "ok" ? "takes new work" : "takes no new work"],
    ["Up for", uptime(health.uptime_seconds), "since the last start"],
    ["In flight", count(health.in_flight), "open exchanges"],
    ["Memory", bytes(health.memory_bytes), "resident"],
    ["Loop lag", duration(health.event_loop_lag_ms), "the longest of late"],
  ];
  return <FactTiles facts={facts} />;
}

const nodeTones = { live: "good", late: "warn", dead: "bad" } as const;

const nodeColumns: readonly Column<NodeView>[] = [
  {
    name: "Node",
    cell: ({ name, node }) => (
      <>
        {name} <small class="muted">{node}</small>
      </>
    ),
  },
  { name: "State", cell: ({ state }) => <Badge tone={nodeTones[state]}>{state}</Badge> },
  { name: "Version", cell: ({ version }) => version },
  { name: "Since", cell: ({ since }) => moment(since) },
  { name: "In flight", cell: ({ in_flight }) => count(in_flight) },
  { name: "Holds", cell: ({ holds }) => count(holds) },
  { name: "Last beat", cell: ({ last_beat }) => moment(last_beat) },
];

const auditColumns: readonly Column<AuditView>[] = [
  { name: "Time", cell: ({ at }) => moment(at) },
  { name: "What", cell: ({ action }) => action },
  { name: "To", cell: ({ target }) => (target ? <code>{target}</code> : "–") },
  { name: "Detail", class: "muted", cell: ({ detail }) => detail ?? "–" },
  {
    name: "By",
    cell: ({ actor, address }) => (
      <>
        {actor}
        <small class="muted">{address}</small>
      </>
    ),
  },
];

function AuditTable({ rows }: { rows: readonly AuditView[] }) {
  if (rows.length === 0) return <p class="muted pad">No changes yet.</p>;
  return <Table rows={rows} columns={auditColumns} keyOf={({ id }) => id} />;
}

export function System() {
  const health = useLoaded("health", () => api.get<HealthView>("/health"), 5000);
  const nodes = useLoaded("nodes", () => api.get<{ data: readonly NodeView[] }>("/nodes"), 5000);
  const audit = useLoaded("audit", () => api.get<Page<AuditView>>("/audit", { limit: 20 }));
  const config = useLoaded("config", () => api.get<unknown>("/config"));
  return (
    <>
      <PageHead
        title="System"
        about="How the gateway runs, what was changed, and the configuration in force."
      />
      <Warnings />
      <Shown loaded={health} rows={2}>
        {(value) => <HealthTiles health={value} />}
      </Shown>
      {nodes.value !== null && nodes.value.data.length > 0 && (
        <section class="card flush">
          <h2>Nodes</h2>
          <Table rows={nodes.value.data} columns={nodeColumns} keyOf={({ node }) => node} />
        </section>
      )}
      <section class="card flush">
        <h2>Changes</h2>
        <Shown loaded={audit}>{(page) => <AuditTable rows={page.data} />}</Shown>
      </section>
      <section class="card">
        <h2>Configuration in force</h2>
        <Shown loaded={config}>
          {(value) => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
            <section class="config" tabIndex={0} aria-label="Configuration in force">
              <pre>{JSON.stringify(value, null, 2)}</pre>
            </section>
          )}
        </Shown>
      </section>
    </>
  );
}
