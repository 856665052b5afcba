import type { ExchangeView } from "../../../admin/views.ts";
import { count, credits, duration, moment, routeName, shortCount } from "../format.ts";
import { OutcomeBadge } from "../parts/badge.tsx";
import { hrefOf, path, query } from "../router.ts";

interface ExchangeTableProps {
  readonly exchanges: readonly ExchangeView[];
  readonly withKey: boolean;
}

function Tokens({ of: exchange }: { of: ExchangeView }) {
  return (
    <>
      {shortCount(exchange.input_tokens + exchange.cached_input_tokens + exchange.cache_write_tokens)}
      <span class="muted"> → </span>
      {shortCount(exchange.output_tokens)}
    </>
  );
}

/** A cancelled or interrupted call has none: it was charged, but it counts in no token figure. */
export function hasUsageRecord({ outcome, basis }: ExchangeView): boolean {
  return basis !== null && outcome !== "cancelled" && outcome !== "interrupted";
}

function Cost({ of: exchange }: { of: ExchangeView }) {
  return (
    <>
      {exchange.unit === "credits" ? credits(exchange.charged) : `${count(exchange.charged)} tokens`}
      {exchange.list_cost !== null && exchange.list_cost > 0 && (
        <small class="muted">{credits(exchange.list_cost)} list</small>
      )}
    </>
  );
}

function ExchangeRow({ of: exchange, withKey }: { of: ExchangeView; withKey: boolean }) {
  return (
    <tr>
      <td data-name="Time" class="lead">
        <a href={hrefTo(exchange)}>{moment(exchange.at)}</a>
      </td>
      {withKey && <td data-name="Key">{exchange.key_label ?? <code>{exchange.key_prefix}…</code>}</td>}
      <td data-name="Model">
        {exchange.model || <span class="muted">{exchange.unknown_model ?? "–"}</span>}
        <small class="muted">{routeName(exchange.route)}</small>
      </td>
      <td data-name="Outcome">
        <OutcomeBadge outcome={exchange.outcome} />
        {exchange.alike > 0 && <span class="muted"> ×{count(exchange.alike + 1)}</span>}
        {exchange.code !== null && (
          <small>
            <code>{exchange.code}</code>
          </small>
        )}
      </td>
      <td data-name="Tokens" class="number">
        {hasUsageRecord(exchange) ? <Tokens of={exchange} /> : <span class="muted">–</span>}
      </td>
      <td data-name="Cost" class="number">
        {exchange.entry === null ? <span class="muted">–</span> : <Cost of={exchange} />}
      </td>
      <td data-name="First byte" class="number">
        {duration(exchange.first_byte_ms)}
      </td>
      <td data-name="Duration" class="number">
        {duration(exchange.total_ms)}
      </td>
    </tr>
  );
}

/** Keeps the filters of the list behind it. */
function hrefTo({ id, entry }: ExchangeView): string {
  const search = new URLSearchParams(path.value === "exchanges" ? query.value : "");
  search.set("open", id);
  if (entry === null) search.delete("entry");
  else search.set("entry", String(entry));
  return hrefOf(`exchanges?${search}`);
}

export function ExchangeTable({ exchanges, withKey }: ExchangeTableProps) {
  if (exchanges.length === 0) return <p class="muted pad">No exchanges yet.</p>;
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Time</th>
          {withKey && <th scope="col">Key</th>}
          <th scope="col">Model</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="number">
            Tokens
          </th>
          <th scope="col" class="number">
            Cost
          </th>
          <th scope="col" class="number">
            First byte
          </th>
          <th scope="col" class="number">
            Duration
          </th>
        </tr>
      </thead>
      <tbody>
        {exchanges.map((exchange) => (
          <ExchangeRow key={exchange.id} of={exchange} withKey={withKey} />
        ))}
      </tbody>
    </table>
  );
}
