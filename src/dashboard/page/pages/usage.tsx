import type { AccountList } from "../../../admin/accounts/schema.ts";
import type { UsageRowView, UsageView } from "../../../admin/reports/schema.ts";
import { useAnswer } from "../api.ts";
import { count, credits, rate, shortCount, timeRange } from "../format.ts";
import { overrunFacts } from "../overrun.ts";
import { Choose } from "../parts/choose.tsx";
import { Download, everyPage } from "../parts/download.tsx";
import { EmptyList } from "../parts/empty-list.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { Select, type State } from "../parts/field.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { Money } from "../parts/money.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { RangePicker } from "../parts/range-picker.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, parameter, parameters, query, setQuery } from "../router.ts";

/** The dimensions that usage can be grouped by; a tag by its name, which can be changed. */
const dimensions = [
  ...["month", "day", "hour", "key", "owner", "account", "model", "provider", "route", "user", "session"],
  "tag:project",
];

function wordOf(dimension: string): string {
  return dimension.startsWith("tag:") ? "tag" : dimension;
}

function DimensionChoice(props: { label: string; state: State; other: string; none?: string }) {
  const { label, other, none } = props;
  const [value, onValue] = props.state;
  const known = dimensions.filter((each) => wordOf(each) !== wordOf(other));
  const choices = known.map((each) => ({
    // Of a tag, the name that was chosen.
    value: wordOf(each) === wordOf(value) ? value : each,
    text: `by ${wordOf(each)}`,
  }));
  return (
    <>
      <Select
        aria-label={label}
        state={props.state}
        choices={[...(none === undefined ? [] : [{ value: "", text: none }]), ...choices]}
      />
      {value.startsWith("tag:") && (
        <SearchBox
          label="Tag name"
          state={[value.slice("tag:".length), (name) => onValue(`tag:${name || "project"}`)]}
          placeholder="project"
        />
      )}
    </>
  );
}

function GroupingChoice() {
  const [first = "day", second = ""] = (query.value.get("by") ?? "day").split(",");
  const choose = (...by: readonly string[]) =>
    setQuery({ by: by.filter((each) => each !== "").join(","), cursor: null });
  return (
    <>
      <DimensionChoice label="By" state={[first, (value) => choose(value, second)]} other={second} />
      <DimensionChoice
        label="And by"
        state={[second, (value) => choose(first, value)]}
        other={first}
        none="no second grouping"
      />
    </>
  );
}

function Filters() {
  const accounts = useAnswer<AccountList>("/accounts");
  return (
    <div class="filters">
      <RangePicker otherwise="Last week" />
      <GroupingChoice />
      <SearchBox label="Filter by key" state={parameter("key")} placeholder="Key id, prefix or label" />
      <Choose
        name="account"
        choices={accounts.value?.data.map(({ id, label }) => ({ value: id, text: label ?? id })) ?? []}
      />
    </div>
  );
}

function factsOf({ total }: UsageView): readonly Fact[] {
  const listed = total.list_cost > 0 ? `+ ${credits(total.list_cost)} at list price` : "credits";
  return [
    ["Spend", credits(total.spend), listed],
    [
      "Requests",
      count(total.recorded_requests),
      `rejected and cancelled not counted · ${count(total.failed)} failed · ${count(total.rejected)} rejected`,
    ],
    ["Input", shortCount(total.input_tokens), "tokens"],
    ["Output", shortCount(total.output_tokens), "tokens"],
    ["Cached input", rate(total.cached_input_share), `${shortCount(total.cached_input_tokens)} tokens`],
    ["Saved by caching", credits(total.cache_savings), "credits"],
    ...overrunFacts(total),
  ];
}

function GroupName({ row, by }: { row: UsageRowView; by: string }) {
  if (by === "key" && row.group !== null) return <a href={hrefOf(`keys/${row.group}`)}>{row.name}</a>;
  if (by === "account" && row.group !== null) return <a href={hrefOf(`accounts/${row.group}`)}>{row.name}</a>;
  return <>{row.name}</>;
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

function columnsOf({ by, data }: UsageView): readonly Column<UsageRowView>[] {
  const most = Math.max(...data.map((row) => row.spend + row.list_cost), 0);
  return [
    {
      name: by.split(",").map(wordOf).join(", "),
      class: "lead",
      cell: (row) => <GroupName row={row} by={by} />,
    },
    { name: "Spend", class: "number", cell: (row) => <Spend row={row} most={most} /> },
    {
      name: "Requests",
      class: "number",
      cell: ({ recorded_requests: requests }) => count(requests),
      note: ({ failed, rejected }) =>
        [failed > 0 && `${count(failed)} failed`, rejected > 0 && `${count(rejected)} rejected`]
          .filter(Boolean)
          .join(" · "),
    },
    { name: "Input", class: "number", cell: ({ input_tokens: tokens }) => shortCount(tokens) },
    { name: "Cached", class: "number", cell: ({ cached_input_share: share }) => rate(share) },
    { name: "Output", class: "number", cell: ({ output_tokens: tokens }) => shortCount(tokens) },
    { name: "Saved", class: "number", cell: ({ cache_savings: saved }) => <Money amount={saved} /> },
  ];
}

const filters = ["since", "until", "key", "account"];
const rowsPerPage = 100;
/** The most groups per page. Each page adds everything up again. */
const rowsPerReport = 1_000;

/**
 * All pages, as `sluice usage --csv` has them: a column for each dimension, and one for each figure. The shown times are asked for, because
 * a range such as the last week moves on between pages.
 */
async function tableRows({ by, since, until }: UsageView): Promise<readonly object[]> {
  const usageQuery = { ...parameters(filters), by, since, until };
  const rows = await everyPage<UsageRowView>("/usage", usageQuery, rowsPerReport);
  return rows.map(({ group: _, name: __, groups, ...figures }) => ({ ...groups, ...figures }));
}

export function Usage() {
  const usage = useAnswer<UsageView>("/usage", 0, {
    ...parameters(["by", "cursor", ...filters]),
    limit: rowsPerPage,
  });
  const { value } = usage;
  return (
    <>
      <PageHead title="Usage" about={value === null ? "…" : timeRange(value.since, value.until)}>
        {value !== null && <Download name="usage" rows={() => tableRows(value)} />}
      </PageHead>
      <Filters />
      <LoadedContent loaded={usage} rows={10}>
        {(report) => (
          <>
            <FactTiles facts={factsOf(report)} />
            <section class="card flush">
              <Table
                rows={report.data}
                columns={columnsOf(report)}
                keyOf={(_, place) => place}
                empty={
                  <EmptyList icon="usage" what="requests" filters={filters}>
                    <FirstRequest />
                  </EmptyList>
                }
              />
            </section>
            <Pager next={report.next_cursor} first="First page" />
          </>
        )}
      </LoadedContent>
    </>
  );
}
