import { useEffect, useRef, useState } from "preact/hooks";
import type { TailView } from "../../../admin/requests/schema.ts";
import { adminBase } from "../../../base/requests/admin-base.ts";
import { count, duration, metered, routeName, time } from "../format.ts";
import { Badge, StatusCode } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Choose, choicesOf, plainChoices } from "../parts/choose.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { Money } from "../parts/money.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, query, setQuery } from "../router.ts";

const maxLines = 300;

/** The server's events, newest first; while paused they are counted but not shown. */
function useTail(paused: boolean) {
  const [lines, setLines] = useState<readonly TailView[]>([]);
  const [held, setHeld] = useState<readonly TailView[]>([]);
  const [connected, setConnected] = useState(false);
  const pausedNow = useRef(paused);
  pausedNow.current = paused;

  useEffect(() => {
    const source = new EventSource(`${adminBase}/tail`);
    source.onopen = () => setConnected(true);
    source.onerror = () => setConnected(false);
    source.onmessage = (event) => {
      const line: TailView = JSON.parse(event.data);
      const add = pausedNow.current ? setHeld : setLines;
      add((before) => [line, ...before].slice(0, maxLines));
    };
    return () => source.close();
  }, []);

  useEffect(() => {
    if (paused) return;
    setLines((before) => [...held, ...before].slice(0, maxLines));
    setHeld([]);
  }, [paused]);

  return { lines, connected, waiting: held.length, clear: () => setLines([]) };
}

const filterNames = ["search", "outcome", "keyless"];

const columns: readonly Column<TailView>[] = [
  {
    name: "Time",
    class: "lead",
    phone: "side",
    cell: ({ id, at, kept: isStored }) =>
      isStored ? <a href={hrefOf(`requests/${id}`)}>{time(at)}</a> : time(at),
  },
  {
    name: "Status",
    phone: "about",
    cell: ({ status, outcome }) => <StatusCode status={status} outcome={outcome} />,
  },
  { name: "Route", minor: true, cell: ({ route }) => routeName(route) },
  {
    name: "Model",
    class: "clip",
    phone: "title",
    cell: ({ model }) => model ?? <span class="muted">–</span>,
  },
  {
    name: "Key",
    class: "clip",
    cell: ({ key_prefix: prefix, key_label: label }) =>
      label ?? (prefix ? <code>{prefix}…</code> : <span class="muted">none</span>),
  },
  { name: "Outcome", cell: ({ error_code: code, outcome }) => (code ? <code>{code}</code> : outcome) },
  {
    name: "Tokens",
    class: "number",
    minor: true,
    cell: ({ input_tokens, output_tokens }) => metered(input_tokens, output_tokens),
  },
  {
    name: "Cost",
    class: "number",
    phone: "value",
    cell: ({ unit, charged }) => <Money amount={charged} unit={unit} exact />,
  },
  { name: "Duration", class: "number", cell: ({ total_ms }) => duration(total_ms) },
];

/** Whether a line has what the filters of the page's address ask for. */
function matchesFilters(line: TailView): boolean {
  const text = (query.value.get("search") ?? "").toLowerCase();
  const outcome = query.value.get("outcome");
  if (outcome !== null && line.outcome !== outcome) return false;
  if (line.key_prefix === null && query.value.get("keyless") === null) return false;
  return [
    line.id,
    line.key_prefix,
    line.key_label,
    line.model,
    line.route,
    line.error_code,
    String(line.status),
  ].some((value) => value?.toLowerCase().includes(text));
}

function NoLines({ hidden }: { hidden: number }) {
  if (hidden > 0) {
    return (
      <Empty icon="search" title="No matching lines">
        <p>The filters hide {count(hidden)} of the newest lines.</p>
        <Button onClick={() => setQuery({ search: null, outcome: null, keyless: "yes" })}>
          Clear the filters
        </Button>
      </Empty>
    );
  }
  return (
    <Empty icon="tail" title="Waiting for the next request">
      <p>Requests appear here as soon as they end, including rejected ones.</p>
      <FirstRequest />
    </Empty>
  );
}

export function Tail() {
  const [paused, setPaused] = useState(false);
  const tail = useTail(paused);
  const lines = tail.lines.filter(matchesFilters);
  return (
    <>
      <PageHead
        title="Live tail"
        about={tail.connected ? <Badge tone="good">connected</Badge> : <Badge tone="warn">connecting</Badge>}
      >
        <Button icon={paused ? "playground" : "stop"} onClick={() => setPaused(!paused)}>
          {paused ? `Resume (${count(tail.waiting)} new)` : "Pause"}
        </Button>
        <Button onClick={tail.clear}>Clear</Button>
      </PageHead>
      <FilterBar
        names={filterNames}
        search={<SearchBox label="Filter lines" placeholder="Key, model, route or code" />}
      >
        <Choose name="outcome" choices={plainChoices(["completed", "failed", "rejected", "cancelled"])} />
        <Choose name="keyless" otherwise="With a key" choices={choicesOf({ yes: "With or without a key" })} />
      </FilterBar>
      <div class="card flush" data-test="tail">
        {lines.length === 0 ? (
          <NoLines hidden={tail.lines.length} />
        ) : (
          <Table rows={lines} columns={columns} keyOf={({ id }) => id} />
        )}
      </div>
    </>
  );
}
