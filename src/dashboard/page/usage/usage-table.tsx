import type { UsageRowView, UsageView } from "../../../admin/reports/schema.ts";
import { count, credits, rate, titled } from "../format.ts";
import { EmptyList } from "../parts/empty-list.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { Money } from "../parts/money.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { hrefOf, query, setQuery } from "../router.ts";
import { colorOf } from "./measures.ts";

export function wordOf(dimension: string): string {
  return dimension.startsWith("tag:") ? "tag" : dimension;
}

/** The page of a group: a key, an account, or the requests that it counts. Null if it has none. */
function hrefOfRow({ groups = {} }: UsageRowView): string | null {
  const entries = Object.entries(groups).filter(([, value]) => value !== null);
  const [first] = entries;
  if (first === undefined || first[1] === null) return null;
  const [dimension, value] = first;
  if (entries.length === 1 && dimension === "key") return hrefOf(`keys/${value}`);
  if (entries.length === 1 && dimension === "account") return hrefOf(`accounts/${value}`);
  const search = new URLSearchParams();
  for (const name of ["since", "until"]) {
    const chosen = query.value.get(name);
    if (chosen !== null) search.set(name, chosen);
  }
  for (const [name, each] of entries) {
    const [word, filter] = requestFilter(name, each ?? "");
    if (word !== null) search.set(word, filter);
  }
  return hrefOf(`requests?${search}`);
}

const requestFilters = new Set(["key", "model", "provider", "route", "user", "session", "agent", "batch"]);

function requestFilter(dimension: string, value: string): readonly [string | null, string] {
  if (dimension.startsWith("tag:")) return ["tag", `${dimension.slice("tag:".length)}=${value}`];
  if (dimension === "owner") return ["search", value];
  return [requestFilters.has(dimension) ? dimension : null, value];
}

/** The first click filters by this group, the second opens its page. */
function GroupName({ row, color }: { row: UsageRowView; color: string | undefined }) {
  const swatch = color && <i class="swatch" style={{ background: color }} />;
  const isOnly = query.value.get("only") === row.name;
  const behind = hrefOfRow(row);
  if (isOnly && behind !== null) {
    return (
      <>
        {swatch}
        <a href={behind}>{row.name}</a>
      </>
    );
  }
  const search = new URLSearchParams(query.value);
  search.set("only", row.name);
  return (
    <>
      {swatch}
      <a href={hrefOf(`reports?${search}`)}>{row.name}</a>
    </>
  );
}

/** The charged amount, or the list cost of budgets if nothing was charged. */
function Spend({ row, most }: { row: UsageRowView; most: number }) {
  return (
    <>
      <Money amount={row.spend} />
      {row.list_cost > 0 && <small class="muted">{credits(row.list_cost)} list</small>}
      <meter
        min={0}
        max={most || 1}
        value={row.spend + row.list_cost}
        aria-label={`Share of ${row.name || "the rest"}`}
      />
    </>
  );
}

function columnsOf({ by, data, chart }: UsageView): readonly Column<UsageRowView>[] {
  const most = Math.max(...data.map((row) => row.spend + row.list_cost), 0);
  const places = new Map(chart?.series.map(({ name }, place) => [name, place]));
  const isTold = chart !== undefined && chart.series.length > 1;
  const colorFor = ({ name }: UsageRowView) => {
    const place = places.get(name);
    if (!isTold) return undefined;
    return colorOf(place ?? 0, place === undefined);
  };
  return [
    {
      name: titled(by.split(",").map(wordOf).join(", ")),
      class: "lead clip",
      phone: "title",
      cell: (row) => <GroupName row={row} color={colorFor(row)} />,
    },
    { name: "Spend", class: "number", phone: "value", cell: (row) => <Spend row={row} most={most} /> },
    {
      name: "Requests",
      class: "number",
      phone: "side",
      phoneUnit: "requests",
      cell: ({ recorded_requests: requests }) => count(requests),
      note: ({ failed, rejected }) =>
        [failed > 0 && `${count(failed)} failed`, rejected > 0 && `${count(rejected)} rejected`]
          .filter(Boolean)
          .join(" · "),
    },
    {
      name: "Input",
      class: "number",
      phone: "about",
      phoneUnit: "tokens in",
      cell: ({ input_tokens: value }) => <Tokens value={value} />,
    },
    {
      name: "Cached",
      class: "number",
      minor: true,
      cell: ({ cached_input_share: share, cached_input_tokens: tokens }) => (
        <span title={`${count(tokens)} tokens`}>{rate(share)}</span>
      ),
    },
    {
      name: "Output",
      class: "number",
      cell: ({ output_tokens: value }) => <Tokens value={value} />,
    },
    {
      name: "Saved",
      class: "number",
      minor: true,
      cell: ({ cache_savings: saved }) => <Money amount={saved} />,
    },
  ];
}

interface UsageTableProps {
  readonly report: UsageView;
  readonly only: string | null;
  readonly filters: readonly string[];
  readonly onPoint: (name: string | null) => void;
}

export function UsageTable({ report, only, filters, onPoint }: UsageTableProps) {
  const rows = only === null ? report.data : report.data.filter(({ name }) => name === only);
  return (
    <section class="card flush">
      {only !== null && (
        <p class="pad">
          Only <strong>{only}</strong>.{" "}
          <button type="button" class="link" onClick={() => setQuery({ only: null })}>
            Show all
          </button>
        </p>
      )}
      <Table
        rows={rows}
        columns={columnsOf(report)}
        keyOf={(_, place) => place}
        onPoint={(row) => onPoint(row?.name ?? null)}
        empty={
          <EmptyList icon="usage" what="requests" filters={filters}>
            <FirstRequest />
          </EmptyList>
        }
      />
    </section>
  );
}
