import type { OverviewView, UsageRowView } from "../../../admin/views.ts";
import { change, count, credits, duration, percent, shortCount } from "../format.ts";

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly unit?: string;
  readonly note: string | null;
}

function Tile({ name, value, unit, note }: TileProps) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        {value}
        {unit && <small> {unit}</small>}
      </dd>
      <dd class="muted">{note ?? "nothing to compare with"}</dd>
    </div>
  );
}

export function Tiles({ overview }: { overview: OverviewView }) {
  const { totals, before } = overview;
  const tokens = totals.input_tokens + totals.output_tokens;
  return (
    <dl class="tiles card">
      <Tile
        name="Spend"
        value={credits(totals.spend)}
        unit="credits"
        note={change(totals.spend, before.spend)}
      />
      <Tile
        name="Requests"
        value={shortCount(totals.requests)}
        note={change(totals.requests, before.requests)}
      />
      <Tile
        name="Tokens"
        value={shortCount(tokens)}
        note={`${shortCount(totals.input_tokens)} in · ${shortCount(totals.output_tokens)} out`}
      />
      <Tile
        name="Errors"
        value={percent(totals.errors, totals.requests)}
        note={`${count(totals.errors)} of ${shortCount(totals.requests)}`}
      />
      <Tile
        name="First byte"
        value={duration(totals.first_byte_p50_ms)}
        note={`p95 ${duration(totals.first_byte_p95_ms)}`}
      />
      <Tile name="In flight" value={count(overview.in_flight)} note="open right now" />
    </dl>
  );
}

interface TopRowsProps {
  readonly title: string;
  readonly rows: readonly UsageRowView[];
  readonly href: (row: UsageRowView) => string;
}

export function TopRows({ title, rows, href }: TopRowsProps) {
  const most = Math.max(...rows.map((row) => row.spend), 0);
  return (
    <section class="card top">
      <h3>{title}</h3>
      {rows.length === 0 && <p class="muted">Nothing in this time.</p>}
      <ol>
        {rows.map((row) => (
          <li key={row.group}>
            <a href={href(row)}>{row.name}</a>
            <span class="number">{credits(row.spend)}</span>
            <meter min={0} max={most || 1} value={row.spend} aria-label={`Share of ${row.name}`} />
            <span class="muted number">{shortCount(row.requests)} requests</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function InFlight({ overview }: { overview: OverviewView }) {
  const { oldest_in_flight: oldest, in_flight: open } = overview;
  return (
    <section class="card top">
      <h3>In flight now</h3>
      {open === 0 && <p class="muted">Nothing is running at the moment.</p>}
      <ol>
        {oldest.map((exchange) => (
          <li key={exchange.id}>
            <span>{exchange.model}</span>
            <span class="number">{duration(exchange.age_ms)}</span>
            <span class="muted">
              <code>{exchange.key_prefix}</code>
            </span>
            <span class="muted number">{exchange.stream ? "stream" : "whole"}</span>
          </li>
        ))}
      </ol>
      {open > oldest.length && <p class="muted">and {count(open - oldest.length)} more</p>}
    </section>
  );
}
