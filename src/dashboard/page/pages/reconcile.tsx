import { useState } from "preact/hooks";
import type { ModelBriefView } from "../../../admin/models/schema.ts";
import type { ReconciledRowView, ReconciliationView } from "../../../admin/reconcile/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { api } from "../api.ts";
import { count, price, shortCount } from "../format.ts";
import { useModels } from "../model-list.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Chart, type Line } from "../parts/chart.tsx";
import { everyDay, totalsByDay } from "../parts/chart-values.ts";
import { choicesOf, plainChoices } from "../parts/choose.tsx";
import { Field, SelectField, TextField } from "../parts/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { Empty, Failure } from "../parts/states.tsx";
import { useSubmit } from "../parts/submit.ts";
import { type Column, Table } from "../parts/table.tsx";

/** An amount in dollars, with fractions of a cent. */
const usd = (value: number) => price(Math.round(value * 10_000) / 10_000);

/** The compared metrics and their formats. */
const figures = {
  requests: { name: "Requests", format: count },
  input: { name: "Input", format: count },
  cached: { name: "Cached", format: count },
  cache_writes: { name: "Cache writes", format: count },
  output: { name: "Output", format: count },
  cost: { name: "Cost (USD)", format: usd },
} as const;
type ReconciledMetric = keyof typeof figures;
const totalNames = Object.keys(figures) as ReconciledMetric[];

function ReconciledAmount({ row, metric: name }: { row: ReconciledRowView; metric: ReconciledMetric }) {
  const { billed, difference } = row[name];
  const { format } = figures[name];
  if (billed === null || difference === null) return <span class="muted">–</span>;
  const sign = difference > 0 ? "+" : "−";
  return (
    <>
      {format(billed)}
      {difference !== 0 && (
        <small class={row.differing.includes(name) ? "bad" : "muted"}>
          {sign}
          {format(Math.abs(difference))}
        </small>
      )}
    </>
  );
}

function columnsOf(reported: readonly ReconciledMetric[]): readonly Column<ReconciledRowView>[] {
  return [
    { name: "Day", class: "lead day", cell: ({ date }) => date },
    { name: "Model", cell: ({ model }) => (model === null ? "all models" : <code>{model}</code>) },
    ...reported.map((name) => ({
      name: figures[name].name,
      class: "number",
      cell: (row: ReconciledRowView) => <ReconciledAmount row={row} metric={name} />,
    })),
    {
      name: "Likely reasons",
      cell: ({ differing, reasons }) =>
        differing.length === 0 ? (
          <Badge tone="good">agrees</Badge>
        ) : (
          reasons.map(({ reason, text }) => <small key={reason}>{text}</small>)
        ),
    },
  ];
}

/** The reported and the charged cost by day, or tokens if the report has no cost. */
function ReportChart({ reconciliation: { data, total } }: { reconciliation: ReconciliationView }) {
  const figure = total.cost.billed === null ? "input" : "cost";
  const format = figure === "cost" ? usd : shortCount;
  const reported = data.filter((row) => row[figure].billed !== null);
  const days = everyDay(reported.map(({ date }) => date));
  const line = (label: string, side: "billed" | "ledger", colour: Line["colour"]): Line => {
    const values = totalsByDay(
      days,
      reported.map((row) => ({ date: row.date, value: row[figure][side] ?? 0 })),
    );
    return {
      label,
      values,
      colour,
      overall: format(values.reduce<number>((all, value) => all + (value ?? 0), 0)),
    };
  };
  const lines = [line("billed", "billed", 1), line("charged", "ledger", 3)];
  const at = days.map((date) => Date.parse(date) / 1000);
  return (
    <Chart
      title={figures[figure].name}
      at={at}
      format={format}
      axis={format}
      lines={lines}
      whole={figure !== "cost"}
    />
  );
}

function ComparisonResult({ reconciliation: compared }: { reconciliation: ReconciliationView }) {
  const shown = useState("differing");
  const { data, differing, tolerance, total } = compared;
  const reported = totalNames.filter((name) => total[name].billed !== null);
  const rows = data.filter((row) => shown[0] === "all" || row.differing.length > 0);
  const lines = { differing: "Differences", all: "All" };
  const verdict =
    differing === 0
      ? `Everything matches within ${tolerance}%`
      : `${count(differing)} of ${plural(data.length, "line")} differ by more than ${tolerance}%`;
  return (
    <>
      <div class="charts">
        <ReportChart reconciliation={compared} />
      </div>
      <Card title={verdict} actions={<Segmented label="Lines" state={shown} choices={choicesOf(lines)} />}>
        {rows.length > 0 && (
          <Table rows={rows} columns={columnsOf(reported)} keyOf={({ date, model }) => `${date} ${model}`} />
        )}
      </Card>
    </>
  );
}

const msPerDay = 86_400_000;
const yesterday = () => new Date(Date.now() - msPerDay).toISOString().slice(0, 10);

/** The providers, those with reports that can be compared first: a demo and a free model have no bill. */
function billingFirst(models: readonly ModelBriefView[]): readonly string[] {
  const bills = models.filter(({ free, price }) => !free && price !== null).flatMap((each) => each.providers);
  const reporting = bills.filter((name) => /openai|anthropic/.test(name));
  return [...new Set([...reporting, ...bills, ...models.flatMap((each) => each.providers)])];
}

export function Reconcile() {
  const models = useModels();
  const known = billingFirst(models.value?.data ?? []);
  const [chosen, setProvider] = useState("");
  const to = useState(yesterday);
  const from = useState(() => `${yesterday().slice(0, 7)}-01`);
  const tolerance = useState("1");
  const [files, setFiles] = useState<readonly File[]>([]);
  const [compared, setCompared] = useState<ReconciliationView | null>(null);
  const provider = chosen || (known[0] ?? "");
  const { busy, error, onSubmit } = useSubmit(async () => {
    setCompared(null);
    const texts = await Promise.all(files.map((file) => file.text()));
    const body = { provider, from: from[0], to: to[0], tolerance: Number(tolerance[0]), files: texts };
    setCompared(await api.post<ReconciliationView>("/reconcile", body));
  });

  return (
    <>
      <PageHead title="Reconcile" about="Compare a provider's usage report with the ledger" />
      <form class="card bill" onSubmit={onSubmit}>
        <SelectField label="Provider" state={[provider, setProvider]} choices={plainChoices(known)} />
        <TextField label="From" type="date" state={from} required />
        <TextField label="To" type="date" state={to} required />
        <TextField label="Tolerance (%)" state={tolerance} inputMode="decimal" />
        <Field
          label="Files"
          hint="Saved OpenAI reports (usage, costs) or Anthropic reports (usage and cost), all pages, or CSV files."
        >
          {(id) => (
            <input
              id={id}
              type="file"
              multiple
              required
              accept=".json,.jsonl,.csv,application/json,text/csv"
              onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
            />
          )}
        </Field>
        <Button type="submit" kind="primary" busy={busy}>
          Compare
        </Button>
      </form>
      {error && <Failure error={error} />}
      <div aria-live="polite">{compared && <ComparisonResult reconciliation={compared} />}</div>
      {!compared && !error && (
        <Empty icon="reconcile" title="Choose the files of a usage report">
          <p class="muted">
            The gateway compares the files and does not store them. <code>sluice reconcile --fetch</code>{" "}
            downloads them from the provider.
          </p>
        </Empty>
      )}
    </>
  );
}
