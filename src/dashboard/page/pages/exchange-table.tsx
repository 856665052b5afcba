import type { ExchangeView } from "../../../admin/views.ts";
import { credits, duration, moment, shortCount } from "../format.ts";
import { OutcomeBadge } from "../parts/badge.tsx";
import { hrefOf } from "../router.ts";

interface ExchangeTableProps {
  readonly exchanges: readonly ExchangeView[];
  readonly withKey: boolean;
}

function ExchangeRow({ of: exchange, withKey }: { of: ExchangeView; withKey: boolean }) {
  return (
    <tr>
      <td data-name="Time" class="lead">
        <a href={hrefOf(`exchanges?open=${exchange.id}&entry=${exchange.entry}`)}>{moment(exchange.at)}</a>
      </td>
      {withKey && <td data-name="Key">{exchange.key_label ?? <code>{exchange.key_prefix}…</code>}</td>}
      <td data-name="Model">
        {exchange.model}
        <small class="muted">{exchange.route.replace("/v1/", "")}</small>
      </td>
      <td data-name="Outcome">
        <OutcomeBadge outcome={exchange.outcome} />
      </td>
      <td data-name="Tokens" class="number">
        {shortCount(exchange.input_tokens + exchange.cached_input_tokens + exchange.cache_write_tokens)}
        <span class="muted"> → </span>
        {shortCount(exchange.output_tokens)}
      </td>
      <td data-name="Cost" class="number">
        {credits(exchange.cost)}
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
