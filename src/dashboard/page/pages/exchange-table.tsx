import type { ComponentChildren } from "preact";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { count, credits, duration, metered, moment, routeName } from "../format.ts";
import { OutcomeBadge } from "../parts/badge.tsx";
import { Money } from "../parts/money.tsx";
import { Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, isSelfServicePage, query } from "../router.ts";

interface ExchangeTableProps {
  readonly exchanges: readonly ExchangeView[];
  /** Shown if there are no requests. */
  readonly children?: ComponentChildren;
}

export function meteredOf(exchange: ExchangeView): string {
  const input = exchange.input_tokens + exchange.cached_input_tokens + exchange.cache_write_tokens;
  return metered(input, exchange.output_tokens, exchange.units);
}

/** False for cancelled and interrupted calls: they were charged, but count in no token total. */
export function hasUsageRecord({ outcome, basis }: ExchangeView): boolean {
  return basis !== null && outcome !== "cancelled" && outcome !== "interrupted";
}

const none = <span class="muted">–</span>;

const keyColumn: Column<ExchangeView> = {
  name: "Key",
  class: "clip",
  cell: ({ key_label, key_prefix }) => key_label ?? <code>{key_prefix}…</code>,
};

export const exchangeColumns: readonly Column<ExchangeView>[] = [
  {
    name: "Time",
    class: "lead",
    phone: "side",
    cell: (exchange) => <a href={requestHref(exchange)}>{moment(exchange.at)}</a>,
  },
  keyColumn,
  {
    name: "Model",
    class: "clip",
    phone: "title",
    cell: ({ model, unknown_model }) => model || <span class="muted">{unknown_model ?? "–"}</span>,
    note: ({ route }) => routeName(route),
  },
  {
    name: "Outcome",
    class: "clip",
    phone: "about",
    cell: ({ outcome, alike, code }) => (
      <>
        <OutcomeBadge outcome={outcome} />
        {alike > 0 && <span class="muted"> ×{count(alike + 1)}</span>}
        {code !== null && (
          <small>
            <code>{code}</code>
          </small>
        )}
      </>
    ),
  },
  {
    name: "Metered",
    class: "number",
    minor: true,
    cell: (row) => (hasUsageRecord(row) ? meteredOf(row) : none),
  },
  {
    name: "Cost",
    class: "number",
    phone: "value",
    cell: ({ entry, unit, charged }) =>
      entry === null ? none : <Money amount={charged} unit={unit} exact />,
    note: ({ list_cost: listed }) => listed !== null && listed > 0 && `${credits(listed)} list`,
  },
  { name: "First byte", class: "number", minor: true, cell: ({ first_byte_ms }) => duration(first_byte_ms) },
  { name: "Duration", class: "number", cell: ({ total_ms }) => duration(total_ms) },
];
const withoutKey = exchangeColumns.filter((column) => column !== keyColumn);

/** The self-service page shows a request in a dialog; the dashboard has a page for each. */
export function requestHref({ id, entry }: Pick<ExchangeView, "id" | "entry">): string {
  if (!isSelfServicePage) return hrefOf(`requests/${id}${entry === null ? "" : `?entry=${entry}`}`);
  const search = new URLSearchParams(query.value);
  search.set("open", id);
  if (entry === null) search.delete("entry");
  else search.set("entry", String(entry));
  return hrefOf(`?${search}`);
}

/** The requests of one key. */
export function ExchangeTable({ exchanges, children }: ExchangeTableProps) {
  return (
    <Table
      rows={exchanges}
      columns={withoutKey}
      keyOf={({ id }) => id}
      empty={
        <Empty icon="exchanges" title="No requests yet">
          {children}
        </Empty>
      }
    />
  );
}
