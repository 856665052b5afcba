import type { ConfigTextView } from "../../../admin/config/schema.ts";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { AuditView, HealthView, NodeView } from "../../../admin/system/schema.ts";
import { size } from "../../../base/text/size.ts";
import { useAnswer } from "../api.ts";
import { count, duration, moment, uptime } from "../format.ts";
import { Badge } from "../parts/badge.tsx";
import { Card } from "../parts/card.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Download, everyPage } from "../parts/download.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { RangePicker } from "../parts/range-picker.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Warnings } from "../parts/warnings.tsx";
import { parameters } from "../router.ts";
import { ConfigOnDisk } from "./config-on-disk.tsx";
import { Storage } from "./storage.tsx";

function HealthTiles({ health }: { health: HealthView }) {
  const facts: readonly Fact[] = [
    ["Version", health.version, "of Sluice"],
    ["State", health.status, health.status === "ok" ? "accepting requests" : "not accepting requests"],
    ["Uptime", uptime(health.uptime_seconds), "since the last start"],
    ["In flight", count(health.in_flight), "requests in progress"],
    ["Memory", size(health.memory_bytes), "resident"],
    ["Event loop lag", duration(health.event_loop_lag_ms), "recent maximum"],
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
  { name: "Heartbeat", cell: ({ heartbeat_at }) => moment(heartbeat_at) },
];

export function System() {
  const health = useAnswer<HealthView>("/health", 5000);
  const nodes = useAnswer<{ data: readonly NodeView[] }>("/nodes", 5000);
  return (
    <>
      <PageHead title="System" about="Health, configuration, storage and audit log." />
      <Warnings />
      <LoadedContent loaded={health} rows={2}>
        {(value) => (
          <>
            <HealthTiles health={value} />
            <p class="muted">
              Listens at <code>{value.address}</code>, with its data folder <code>{value.data_folder}</code>.
            </p>
          </>
        )}
      </LoadedContent>
      {nodes.value !== null && nodes.value.data.length > 0 && (
        <Card title="Nodes">
          <Table rows={nodes.value.data} columns={nodeColumns} keyOf={({ node }) => node} />
        </Card>
      )}
      <ConfigOnDisk />
      <ConfigInForce />
      <Storage />
      <AuditLog />
    </>
  );
}

const columns: readonly Column<AuditView>[] = [
  { name: "Time", cell: ({ at }) => moment(at) },
  { name: "Action", cell: ({ action }) => action },
  {
    name: "Target",
    class: "clip",
    cell: ({ target, target_label: label }) => label ?? (target ? <code>{target}</code> : "–"),
    note: ({ target, target_label: label }) => label !== null && <code>{target}</code>,
  },
  { name: "Detail", class: "muted message", cell: ({ detail }) => detail ?? "–" },
  { name: "By", cell: ({ actor }) => actor, note: ({ address }) => address },
];

/** The audit log; the search text is in the page's address. */
function AuditLog() {
  const { cursor, ...filters } = parameters(["search", "since", "until", "cursor"]);
  const page = useAnswer<Page<AuditView>>("/audit", 0, { ...filters, cursor, limit: 20 });
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <Card
      title="Audit log"
      actions={<Download name="changes" rows={() => everyPage<AuditView>("/audit", filters)} />}
    >
      <div class="filters">
        <SearchBox label="Search the audit log" placeholder="Actor, address, action, target or detail" />
        <RangePicker otherwise="Any time" />
      </div>
      <LoadedContent loaded={page}>
        {({ data }) => (
          <Table
            rows={data}
            columns={columns}
            keyOf={({ id }) => id}
            empty={<p class="muted pad">{isFiltered ? "No matching records." : "No changes yet."}</p>}
          />
        )}
      </LoadedContent>
      <Pager next={page.value?.next_cursor ?? null} />
    </Card>
  );
}

/** The running configuration as a file would have it, with references in place of secrets. */
function ConfigInForce() {
  const config = useAnswer<ConfigTextView>("/config/toml");
  return (
    <Card title="Running configuration" actions={<CopyButton text={config.value?.toml ?? ""} />}>
      <LoadedContent loaded={config}>
        {({ toml }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
          <section class="config" tabIndex={0} aria-label="Running configuration">
            <pre>{toml === "" ? "# All settings have their defaults." : toml}</pre>
          </section>
        )}
      </LoadedContent>
    </Card>
  );
}
