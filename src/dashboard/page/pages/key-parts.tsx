import type { KeyView } from "../../../admin/key-terms/schema.ts";
import type { UsageRowView, UsageTotalsView, UsageView } from "../../../admin/reports/schema.ts";
import { tpmText } from "../../../base/models/tpm-limit.ts";
import { plural } from "../../../base/text/plural.ts";
import { useAnswer } from "../api.ts";
import { count, credits, date, rate, shortPlural } from "../format.ts";
import { keyBalance, Spent } from "../parts/balance.tsx";
import { Card } from "../parts/card.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { Money } from "../parts/money.tsx";
import { Pager } from "../parts/pager.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { parameters } from "../router.ts";
import { SpendByDay, spendDays, spendSince } from "../self-service/spend-by-day.tsx";

/** A note on what the spending consists of. `figures` are the totals since the key was created. */
function spentNote(key: KeyView, figures: UsageTotalsView | null): string {
  const unit = key.credit ? "credits" : "tokens in this period";
  if (figures === null) return unit;
  if (key.credit === null) return `${unit} · ${credits(figures.list_cost)} credits at list price in total`;
  const parts = [unit];
  if (figures.cancelled_spend > 0) parts.push(`${credits(figures.cancelled_spend)} for cancelled requests`);
  if (figures.interrupted_spend > 0)
    parts.push(`${credits(figures.interrupted_spend)} for interrupted requests`);
  if (figures.overrun > 0) parts.push(`${credits(figures.overrun)} not charged`);
  return parts.join(" · ");
}

function endedNote(key: KeyView, figures: UsageTotalsView | null): string {
  const tokens = shortPlural(key.input_tokens + key.output_tokens, "token");
  if (figures === null) return tokens;
  return `${tokens} · ${count(figures.failed)} failed · ${count(figures.rejected)} rejected`;
}

function limitsNote({ tpm_limits: tpm, max_concurrent: inFlight }: KeyView): string {
  const parts = ["requests per minute"];
  if (tpm !== null) parts.push(`${tpmText(tpm)} tokens per minute`);
  if (inFlight !== null) parts.push(`${count(inFlight)} in flight`);
  return parts.join(" · ");
}

export function KeyFacts({
  apiKey: key,
  figures = null,
}: {
  apiKey: KeyView;
  figures?: UsageTotalsView | null;
}) {
  const { name, main, exact = main, side } = keyBalance(key);
  const facts: readonly Fact[] = [
    [name, exact, side],
    ["Spent", <Spent apiKey={key} />, spentNote(key, figures)],
    ["Requests", count(key.recorded_requests), endedNote(key, figures)],
    ["Limit", key.rpm_limit === null ? "none" : count(key.rpm_limit), limitsNote(key)],
    [
      "Models",
      key.provider_scope === "all" ? "all providers" : key.provider_scope,
      key.models?.join(", ") ?? "all models",
    ],
    ["Expires", key.expires_at ? date(key.expires_at) : "never", `created ${date(key.created_at)}`],
  ];
  return <FactTiles facts={facts} />;
}

const modelsPerPage = 50;

export function KeySpend({ apiKey: key }: { apiKey: Pick<KeyView, "id" | "mode"> }) {
  const since = spendSince();
  const byDay = useAnswer<UsageView>("/usage", 60_000, { key: key.id, by: "day", since });
  const { cursor } = parameters(["cursor"]);
  const usageQuery = { key: key.id, by: "model", since, cursor, limit: modelsPerPage };
  const byModel = useAnswer<UsageView>("/usage", 60_000, usageQuery);
  return (
    <>
      <LoadedContent loaded={byDay}>
        {(usage) => <SpendByDay usage={usage} mode={key.mode} since={since} />}
      </LoadedContent>
      <Card title={`By model, last ${spendDays} days`}>
        <LoadedContent loaded={byModel}>
          {({ data }) => <ByModel rows={data} mode={key.mode} />}
        </LoadedContent>
      </Card>
      <Pager next={byModel.value?.next_cursor ?? null} first="First page" />
    </>
  );
}

function ByModel({ rows, mode }: { rows: readonly UsageRowView[]; mode: KeyView["mode"] }) {
  if (rows.length === 0) return <p class="muted pad">No requests in this time range.</p>;
  const columns: readonly Column<UsageRowView>[] = [
    { name: "Model", class: "lead", cell: ({ group }) => group || "–" },
    { name: "Requests", class: "number", cell: ({ recorded_requests: requests }) => count(requests) },
    {
      name: "Failed",
      class: "number",
      cell: ({ failed }) => count(failed),
      note: ({ rejected }) => rejected > 0 && `${count(rejected)} rejected`,
    },
    { name: "Input", class: "number", cell: ({ input_tokens: value }) => <Tokens value={value} /> },
    { name: "Cached", class: "number", cell: ({ cached_input_share: share }) => rate(share) },
    { name: "Output", class: "number", cell: ({ output_tokens: value }) => <Tokens value={value} /> },
    {
      name: "Spent",
      class: "number",
      cell: ({ spend, spend_tokens }) =>
        mode === "credit" ? <Money amount={spend} /> : plural(spend_tokens, "token"),
    },
  ];
  return <Table rows={rows} columns={columns} keyOf={({ group }) => group ?? ""} />;
}
