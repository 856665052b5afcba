import type { KeyView, UsageRowView, UsageView } from "../../../admin/views.ts";
import { useAnswer } from "../api.ts";
import { count, credits, rate, shortCount } from "../format.ts";
import { SpendByDay, spendDays, spendSince } from "../holder/spend-by-day.tsx";
import { Card } from "../parts/card.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";

export function KeySpend({ of: key }: { of: Pick<KeyView, "id" | "mode"> }) {
  const since = spendSince();
  const byDay = useAnswer<UsageView>("/usage", 60_000, { key: key.id, by: "day", since });
  const byModel = useAnswer<UsageView>("/usage", 60_000, { key: key.id, by: "model", since });
  return (
    <>
      <Shown loaded={byDay}>{(usage) => <SpendByDay usage={usage} mode={key.mode} since={since} />}</Shown>
      <Card title={`By model, last ${spendDays} days`}>
        <Shown loaded={byModel}>{({ data }) => <ByModel rows={data} mode={key.mode} />}</Shown>
      </Card>
    </>
  );
}

function ByModel({ rows, mode }: { rows: readonly UsageRowView[]; mode: KeyView["mode"] }) {
  if (rows.length === 0) return <p class="muted pad">No request was made with it in this time.</p>;
  const columns: readonly Column<UsageRowView>[] = [
    { name: "Model", class: "lead", cell: ({ group }) => group || "–" },
    { name: "Requests", class: "number", cell: ({ requests }) => count(requests) },
    { name: "Failed", class: "number", cell: ({ failed }) => count(failed) },
    { name: "Input", class: "number", cell: ({ input_tokens }) => shortCount(input_tokens) },
    { name: "Cached", class: "number", cell: ({ cached_input_share: share }) => rate(share) },
    { name: "Output", class: "number", cell: ({ output_tokens }) => shortCount(output_tokens) },
    {
      name: "Spent",
      class: "number",
      cell: ({ spend, spend_tokens }) =>
        mode === "credit" ? credits(spend) : `${count(spend_tokens)} tokens`,
    },
  ];
  return <Table rows={rows} columns={columns} keyOf={({ group }) => group ?? ""} />;
}
