import { useState } from "preact/hooks";
import type { HealthView, NodeView } from "../../../admin/views.ts";
import { useAnswer } from "../api.ts";
import { bytes, count, duration, moment, uptime } from "../format.ts";
import { Badge } from "../parts/badge.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Warnings } from "../parts/warnings.tsx";
import { AuditLog } from "./audit-log.tsx";
import { ConfigInForce } from "./config-in-force.tsx";
import { ConfigOnDisk } from "./config-on-disk.tsx";
import { Storage } from "./storage.tsx";

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

export function System() {
  const health = useAnswer<HealthView>("/health", 5000);
  const nodes = useAnswer<{ data: readonly NodeView[] }>("/nodes", 5000);
  // What depends on the configuration is loaded anew after a reload.
  const [reloads, setReloads] = useState(0);
  return (
    <>
      <PageHead
        title="System"
        about="How the gateway runs, its configuration, what it keeps, and who changed what."
      />
      <Warnings key={`warnings ${reloads}`} />
      <Shown loaded={health} rows={2}>
        {(value) => <HealthTiles health={value} />}
      </Shown>
      {nodes.value !== null && nodes.value.data.length > 0 && (
        <section class="card flush">
          <h2>Nodes</h2>
          <Table rows={nodes.value.data} columns={nodeColumns} keyOf={({ node }) => node} />
        </section>
      )}
      <ConfigOnDisk onReload={() => setReloads(reloads + 1)} />
      <ConfigInForce key={`config ${reloads}`} />
      <Storage key={`storage ${reloads}`} />
      <AuditLog key={`changes ${reloads}`} />
    </>
  );
}
