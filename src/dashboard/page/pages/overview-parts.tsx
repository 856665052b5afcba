import type { OverviewView, UsageRowView } from "../../../admin/reports/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { change, count, credits, duration, moment, rate, shortCount, shortPlural } from "../format.ts";
import { overrunFacts } from "../overrun.ts";
import { Card } from "../parts/card.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { Money } from "../parts/money.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { hrefOf } from "../router.ts";

export function Tiles({ overview }: { overview: OverviewView }) {
  const { totals, before, range } = overview;
  const tokens = totals.input_tokens + totals.output_tokens;
  const facts: readonly Fact[] = [
    [
      "Spend",
      <>
        <a href={hrefOf(`reports?by=key&since=${range}`)}>
          <Money amount={totals.spend} />
        </a>{" "}
        <small>credits</small>
      </>,
      spendNote(overview) ?? nothingBefore,
    ],
    [
      "Requests",
      <a href={hrefOf(`requests?since=${range}`)}>{shortCount(totals.recorded_requests)}</a>,
      change(totals.recorded_requests, before.recorded_requests) ?? nothingBefore,
    ],
    [
      "Tokens",
      <a href={hrefOf(`reports?by=model&since=${range}`)}>
        <Tokens value={tokens} />
      </a>,
      tokensNote(overview),
    ],
    [
      "Failed",
      <a href={hrefOf(`requests?outcome=failed&since=${range}`)}>{rate(totals.error_rate)}</a>,
      <>
        {count(totals.failed)} of {shortCount(totals.completed + totals.failed)} ·{" "}
        <a href={hrefOf(`requests?outcome=rejected&since=${range}`)}>
          {shortCount(totals.rejected)} rejected
        </a>
        {totals.recovered_attempts > 0 &&
          ` · ${shortPlural(totals.recovered_attempts, "attempt")} recovered by retry`}
      </>,
    ],
    ["First byte", duration(totals.first_byte_p50_ms), `median · p95 ${duration(totals.first_byte_p95_ms)}`],
    ["In flight", count(overview.in_flight), "in progress"],
    ...overrunFacts(totals),
  ];
  return <FactTiles facts={facts} />;
}

const nothingBefore = "no earlier data";

function tokensNote({ totals }: OverviewView): string {
  const cached = `${rate(totals.cached_input_share)} cached`;
  const saved = totals.cache_savings > 0 ? `, which saved ${credits(totals.cache_savings)}` : "";
  return `${shortCount(totals.input_tokens)} in, ${cached}${saved} · ${shortCount(totals.output_tokens)} out`;
}

/** A note on what the total consists of, else how it changed. */
function spendNote({ totals, before }: OverviewView): string | null {
  const parts: string[] = [];
  if (totals.cancelled_spend > 0) parts.push(`${credits(totals.cancelled_spend)} for cancelled requests`);
  if (totals.interrupted_spend > 0)
    parts.push(`${credits(totals.interrupted_spend)} for interrupted requests`);
  if (totals.list_cost > 0) parts.push(`+ ${credits(totals.list_cost)} at list price (token budgets)`);
  return parts.length === 0 ? change(totals.spend, before.spend) : parts.join(" · ");
}

interface TopRowsProps {
  readonly title: string;
  readonly rows: readonly UsageRowView[];
  readonly href: (row: UsageRowView) => string;
}

export function TopRows({ title, rows, href }: TopRowsProps) {
  const most = Math.max(...rows.map(chargedOrListCost), 0);
  if (rows.length === 0) return null;
  return (
    <section class="card top">
      <h2>{title}</h2>
      <ol class="stack">
        {rows.map((row) => (
          <li key={row.group}>
            <a href={href(row)} title={row.name}>
              {row.name}
            </a>
            <span class="number">
              {row.spend === 0 && row.list_cost > 0 ? (
                <>
                  <Money amount={row.list_cost} /> <small class="muted">list</small>
                </>
              ) : (
                <Money amount={row.spend} />
              )}
            </span>
            <meter
              min={0}
              max={most || 1}
              value={chargedOrListCost(row)}
              aria-label={`Share of ${row.name}`}
            />
            <small class="muted number">{rowNote(row)}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The charged amount, or the list cost of budgets if nothing was charged. */
function chargedOrListCost({ spend, list_cost }: UsageRowView): number {
  return spend === 0 ? list_cost : spend;
}

function rowNote({ spend, list_cost, recorded_requests: requests }: UsageRowView): string {
  const listed = spend > 0 && list_cost > 0 ? ` · ${credits(list_cost)} list` : "";
  return `${shortPlural(requests, "request")}${listed}`;
}

/** Identical failures, represented by the newest of them. */
interface GroupedFailure extends ExchangeView {
  readonly count: number;
}

/** Failures with the same model, code and message are one row, the newest first. */
export function groupFailures(exchanges: readonly ExchangeView[]): readonly GroupedFailure[] {
  const groups = new Map<string, GroupedFailure>();
  for (const exchange of exchanges) {
    const { model, provider, code, message, alike } = exchange;
    const name = JSON.stringify([model, provider, code, message]);
    const group = groups.get(name) ?? { ...exchange, count: 0 };
    groups.set(name, { ...group, count: group.count + 1 + alike });
  }
  return [...groups.values()];
}

const failureColumns: readonly Column<GroupedFailure>[] = [
  {
    name: "Time",
    class: "lead",
    phone: "side",
    cell: ({ id, ended_at }) => <a href={hrefOf(`requests/${id}`)}>{moment(ended_at)}</a>,
  },
  {
    name: "Model",
    class: "clip",
    phone: "title",
    cell: ({ model }) => model || "–",
    note: ({ provider }) => provider || "no provider",
  },
  { name: "Code", phone: "about", cell: ({ code, outcome }) => <code>{code ?? outcome}</code> },
  { name: "Count", class: "number", phone: "value", cell: ({ count: times }) => `×${count(times)}` },
  { name: "Message", class: "muted written", cell: ({ message }) => message ?? "–" },
];

/** The newest failures with their reasons, one click away from the whole story. */
export function LatestFailures({ failures }: { failures: readonly GroupedFailure[] }) {
  return (
    <Card title="Latest failures" actions={<a href={hrefOf("requests?outcome=failed")}>all</a>}>
      <Table rows={failures} columns={failureColumns} keyOf={({ id }) => id} unseenHead />
    </Card>
  );
}

export function InFlight({ overview }: { overview: OverviewView }) {
  const { oldest_in_flight: oldest, in_flight: open } = overview;
  if (open === 0) return null;
  return (
    <section class="card top">
      <h2>In flight now</h2>
      <ol class="stack">
        {oldest.map((exchange) => (
          <li key={exchange.id}>
            <span>{exchange.model}</span>
            <span class="number">{duration(exchange.age_ms)}</span>
            <code class="muted">{exchange.key_prefix}</code>
            <small class="muted number">{exchange.stream ? "stream" : "whole"}</small>
          </li>
        ))}
      </ol>
      {open > oldest.length && <p class="muted">and {count(open - oldest.length)} more</p>}
    </section>
  );
}
