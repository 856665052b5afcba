import type { AuditView, HealthView, NodeView, Page } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { bytes, count, duration, moment, uptime } from "../format.ts";
import { useLoaded } from "../loaded.ts";
import { Badge } from "../parts/badge.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Shown } from "../parts/states.tsx";
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

function NodeTable({ nodes }: { nodes: readonly NodeView[] }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">State</th>
          <th scope="col">Version</th>
          <th scope="col">Since</th>
          <th scope="col">In flight</th>
          <th scope="col">Holds</th>
          <th scope="col">Last beat</th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <tr key={node.node}>
            <td data-name="Node">
              {node.name} <small class="muted">{node.node}</small>
            </td>
            <td data-name="State">
              <Badge tone={nodeTones[node.state]}>{node.state}</Badge>
            </td>
            <td data-name="Version">{node.version}</td>
            <td data-name="Since">{moment(node.since)}</td>
            <td data-name="In flight">{count(node.in_flight)}</td>
            <td data-name="Holds">{count(node.holds)}</td>
            <td data-name="Last beat">{moment(node.last_beat)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function AuditTable({ rows }: { rows: readonly AuditView[] }) {
  if (rows.length === 0) return <p class="muted pad">No changes yet.</p>;
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">What</th>
          <th scope="col">To</th>
          <th scope="col">Detail</th>
          <th scope="col">By</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td data-name="Time">{moment(row.at)}</td>
            <td data-name="What">{row.action}</td>
            <td data-name="To">{row.target ? <code>{row.target}</code> : "–"}</td>
            <td data-name="Detail" class="muted">
              {row.detail ?? "–"}
            </td>
            <td data-name="By">
              {row.actor}
              <small class="muted">{row.address}</small>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
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
          <NodeTable nodes={nodes.value.data} />
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
