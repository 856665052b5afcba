import { useState } from "preact/hooks";
import type { UsageRowView, UsageTotalsView, UsageView } from "../../../admin/reports/schema.ts";
import { ApiError, api, useLoaded } from "../api.ts";
import { change, count, credits, exactCredits, rate, timeRange } from "../format.ts";
import { overrunFacts } from "../overrun.ts";
import { Download, everyPage } from "../parts/download.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { Money } from "../parts/money.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { Points } from "../parts/warnings.tsx";
import { parameters, query } from "../router.ts";
import { UsageChart } from "../usage/usage-chart.tsx";
import { defaultGrouping, UsageFilters } from "../usage/usage-filters.tsx";
import { limitsOf, Projections, useLimited } from "../usage/usage-limits.tsx";
import { UsageTable } from "../usage/usage-table.tsx";
import { WhatIf } from "../usage/what-if.tsx";

/** The totals, or the figures of the one group that is shown, and how the totals changed since the period before. */
function factsOf(figures: UsageTotalsView, before: UsageTotalsView | null): readonly Fact[] {
  const than = (pick: (figures: UsageTotalsView) => number) => before && change(pick(figures), pick(before));
  const listed = figures.list_cost > 0 && (
    <span title={exactCredits(figures.list_cost)}>+ {credits(figures.list_cost)} at list price</span>
  );
  const join = (...parts: readonly (string | false | null)[]) => parts.filter(Boolean).join(" · ");
  return [
    [
      "Spend",
      <Money amount={figures.spend} />,
      <>
        {than((each) => each.spend) ?? "credits"}
        {listed && " · "}
        {listed}
      </>,
    ],
    [
      "Requests",
      count(figures.recorded_requests),
      join(
        than((each) => each.recorded_requests),
        `${count(figures.failed)} failed`,
        `${count(figures.rejected)} rejected (not counted)`,
      ),
    ],
    [
      "Input",
      <Tokens value={figures.input_tokens} />,
      join(
        "tokens",
        than((each) => each.input_tokens),
      ),
    ],
    [
      "Output",
      <Tokens value={figures.output_tokens} />,
      join(
        "tokens",
        than((each) => each.output_tokens),
      ),
    ],
    [
      "Cached input",
      rate(figures.cached_input_share),
      <>
        <Tokens value={figures.cached_input_tokens} /> tokens
      </>,
    ],
    ["Saved by caching", <Money amount={figures.cache_savings} />, "credits"],
    ...overrunFacts(figures),
  ];
}

const filters = ["since", "until", "key", "account"];
const choices = ["by", "step", "measure", "only", "as"];
const rowsPerPage = 100;
/** Maximum groups per page. Each page computes all totals again. */
const rowsPerReport = 1_000;

/**
 * All pages, in the columns of `sluice usage --csv`: one for each dimension, and one for each metric. Requests the
 * times that are shown, because a range such as the last week moves between pages.
 */
async function tableRows({ by, since, until }: UsageView): Promise<readonly object[]> {
  const usageQuery = { ...parameters(filters), by, since, until };
  const rows = await everyPage<UsageRowView>("/usage", usageQuery, rowsPerReport);
  return rows.map(({ group: _, name: __, groups, ...figures }) => ({ ...groups, ...figures }));
}

interface ShownReport {
  readonly report: UsageView;
  /** The problem with the address, if the defaults are shown instead. */
  readonly problem: string | null;
}

const dayMs = 86_400_000;
const hoursUpTo = 2 * dayMs;
const daysUpTo = 92 * dayMs;

/** Hours for a few days, days for some months, and weeks beyond. */
function defaultStep(since: string | null): "hour" | "day" | "week" {
  const [, amount, unit] = /^(\d+)([hd])$/.exec(since ?? "7d") ?? [];
  const rangeMs = amount === undefined ? 31 * dayMs : Number(amount) * (unit === "h" ? dayMs / 24 : dayMs);
  return rangeMs <= hoursUpTo ? "hour" : rangeMs <= daysUpTo ? "day" : "week";
}

/** Shows the defaults for an address that the server rejects, such as an unknown dimension. */
async function loadReport(): Promise<ShownReport> {
  const { by, step, cursor, ...chosen } = parameters(["by", "step", "cursor", ...filters]);
  const limit = rowsPerPage;
  const usageQuery = {
    ...chosen,
    by: by ?? defaultGrouping,
    chart: step ?? defaultStep(chosen["since"] ?? null),
    cursor,
    limit,
  };
  try {
    return { report: await api.get<UsageView>("/usage", usageQuery), problem: null };
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 404, 409].includes(error.status)) throw error;
    const report = await api.get<UsageView>("/usage", { by: defaultGrouping, chart: "day", limit });
    return { report, problem: `${error.message} This is the last week by ${defaultGrouping}.` };
  }
}

export function Usage() {
  const address = JSON.stringify(parameters(["by", "step", "cursor", ...filters]));
  const usage = useLoaded(address, loadReport);
  const [pointed, setPointed] = useState<string | null>(null);
  const only = query.value.get("only");
  const limited = useLimited(query.value.get("key"), query.value.get("account"));
  const report = usage.value?.report;
  return (
    <>
      <PageHead
        title="Usage"
        about={
          report !== undefined
            ? timeRange(report.since, report.until)
            : usage.error === null
              ? "…"
              : undefined
        }
      >
        {report !== undefined && <Download name="usage" rows={() => tableRows(report)} />}
      </PageHead>
      <UsageFilters names={[...filters, ...choices]} />
      <LoadedContent loaded={usage} rows={10}>
        {({ report: { total, chart, data, ...rest }, problem }) => {
          const shown = only === null ? undefined : data.find(({ name }) => name === only);
          const stepLimit =
            limited && chart && limitsOf(limited, Date.now()).find(({ period }) => period === chart.step);
          return (
            <>
              {problem !== null && <Points label="About the address" points={[problem]} />}
              <FactTiles facts={factsOf(shown ?? total, shown ? null : (chart?.before_total ?? null))} />
              {limited && <Projections limited={limited} />}
              {chart && data.length > 0 && (
                <UsageChart
                  chart={chart}
                  pointed={pointed}
                  onPoint={setPointed}
                  only={shown ? only : null}
                  limit={stepLimit ? { value: stepLimit.limit, text: stepLimit.text } : null}
                />
              )}
              <UsageTable
                report={{ total, data, ...rest, ...(chart ? { chart } : {}) }}
                only={shown ? only : null}
                filters={filters}
                onPoint={setPointed}
              />
              {data.length > 0 && (
                <WhatIf query={{ ...parameters(filters), since: rest.since, until: rest.until }} />
              )}
            </>
          );
        }}
      </LoadedContent>
      <Pager next={report?.next_cursor ?? null} first="First page" />
    </>
  );
}
