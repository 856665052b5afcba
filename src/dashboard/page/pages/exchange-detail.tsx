import type { AttemptView, ExchangeDetailView, ExchangeView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { count, credits, duration, moment } from "../format.ts";
import { useLoaded } from "../loaded.ts";
import { OutcomeBadge, StatusCode } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, query } from "../router.ts";
import { EntryTable } from "./entry-table.tsx";
import { hasUsageRecord } from "./exchange-table.tsx";

function Tokens({ of: exchange }: { of: ExchangeView }) {
  const kinds: readonly (readonly [string, number])[] = [
    ["Input", exchange.input_tokens],
    ["Read from cache", exchange.cached_input_tokens],
    ["Written to cache", exchange.cache_write_tokens],
    ["Output", exchange.output_tokens],
    ["of it reasoning", exchange.reasoning_tokens],
  ];
  return (
    <>
      {kinds.map(([name, tokens]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="number">{hasUsageRecord(exchange) ? count(tokens) : "–"}</dd>
        </div>
      ))}
    </>
  );
}

function Facts({ of: exchange }: { of: ExchangeView }) {
  return (
    <div class="facts">
      <dl>
        <div>
          <dt>Outcome</dt>
          <dd>
            <OutcomeBadge outcome={exchange.outcome} />{" "}
            {exchange.status !== null && <StatusCode status={exchange.status} outcome={exchange.outcome} />}{" "}
            {exchange.code !== null && <code>{exchange.code}</code>}
          </dd>
        </div>
        <div>
          <dt>Time</dt>
          <dd>{moment(exchange.at)}</dd>
        </div>
        <div>
          <dt>Key</dt>
          <dd>
            <a href={hrefOf(`keys/${exchange.key_id}`)}>{exchange.key_label ?? `${exchange.key_prefix}…`}</a>
          </dd>
        </div>
        <div>
          <dt>Route</dt>
          <dd>
            {exchange.route || "–"} {exchange.stream ? "(stream)" : "(whole)"}
          </dd>
        </div>
        <div>
          <dt>Model</dt>
          <dd>{exchange.model || <span class="muted">{exchange.unknown_model ?? "–"}</span>}</dd>
        </div>
        <div>
          <dt>{exchange.outcome === "completed" ? "Answered by" : "Asked last"}</dt>
          <dd>
            {exchange.provider === ""
              ? "no provider"
              : `${exchange.provider}/${exchange.upstream_model}, attempt ${exchange.attempts}`}
          </dd>
        </div>
      </dl>
      <dl>
        <div>
          <dt>Charged</dt>
          <dd class="number">
            {exchange.unit === "credits" ? credits(exchange.charged) : count(exchange.charged)}{" "}
            {exchange.unit}
          </dd>
        </div>
        {exchange.list_cost !== null && (
          <div>
            <dt>List cost</dt>
            <dd class="number">{credits(exchange.list_cost)} credits</dd>
          </div>
        )}
        <Tokens of={exchange} />
        <div>
          <dt>Figures</dt>
          <dd>{exchange.basis ?? "–"}</dd>
        </div>
        <div>
          <dt>First byte</dt>
          <dd class="number">{duration(exchange.first_byte_ms)}</dd>
        </div>
        <div>
          <dt>Duration</dt>
          <dd class="number">{duration(exchange.total_ms)}</dd>
        </div>
      </dl>
    </div>
  );
}

const attemptColumns: readonly Column<AttemptView>[] = [
  { name: "Deployment", cell: ({ deployment }) => deployment },
  {
    name: "Result",
    cell: ({ status, failure }) => (
      <>
        {status !== null && (
          <StatusCode status={status} outcome={failure === null ? "completed" : "failed"} />
        )}{" "}
        {failure === null ? "answered" : <code>{failure}</code>}
      </>
    ),
  },
  { name: "The provider said", class: "muted message", cell: ({ said, cause }) => said ?? cause ?? "–" },
  { name: "Took", class: "number", cell: ({ duration_ms }) => duration(duration_ms) },
];

function Attempts({ of: attempts }: { of: readonly AttemptView[] }) {
  return (
    <>
      <h3>Attempts</h3>
      <Table rows={attempts} columns={attemptColumns} keyOf={(_, place) => place} />
    </>
  );
}

export function ExchangeDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const detail = useLoaded(id, () =>
    api.get<ExchangeDetailView>(`/exchanges/${encodeURIComponent(id)}`, { entry: query.value.get("entry") }),
  );
  return (
    <Dialog title="Exchange" onClose={onClose}>
      <div class="body wide">
        <p class="copyable">
          <code>{id}</code> <CopyButton text={id} />
        </p>
        <Shown loaded={detail}>
          {({ exchange, explanation, attempts, entries }) => (
            <>
              <p class="explanation">{explanation}</p>
              {attempts.length > 0 && <Attempts of={attempts} />}
              {exchange && <Facts of={exchange} />}
              <h3>Ledger</h3>
              {entries.length === 0 ? (
                <p class="muted">Nothing was charged.</p>
              ) : (
                <>
                  <EntryTable entries={entries} />
                  {entries.map(
                    ({ id: entry, sum }) =>
                      sum !== null && (
                        <p key={entry} class="muted sum">
                          {sum}
                        </p>
                      ),
                  )}
                </>
              )}
            </>
          )}
        </Shown>
      </div>
    </Dialog>
  );
}
