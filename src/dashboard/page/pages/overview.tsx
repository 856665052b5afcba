import { useMemo } from "preact/hooks";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { OverviewPointView, OverviewRange, OverviewView } from "../../../admin/reports/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { api, useLoaded } from "../api.ts";
import { axisDuration, count, credits, duration, rate, shortCount, timeRange } from "../format.ts";
import { Chart, type Line } from "../parts/chart.tsx";
import { choicesOf } from "../parts/choose.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { Empty, Failure, LoadedContent } from "../parts/states.tsx";
import { hrefOf, query, setQuery } from "../router.ts";
import { ActiveAlerts } from "./alerts.tsx";
import { groupFailures, InFlight, LatestFailures, Tiles, TopRows } from "./overview-parts.tsx";
import { Setup } from "./setup.tsx";

const rangeNames: Readonly<Record<OverviewRange, string>> = {
  "1h": "1 h",
  "24h": "24 h",
  "7d": "7 d",
  "30d": "30 d",
};

const overviewRanges = Object.keys(rangeNames) as OverviewRange[];

function NoTraffic() {
  return (
    <div class="card">
      <Empty icon="overview" title="No requests in this time range">
        <p>Choose a longer range, or send a request:</p>
        <FirstRequest />
      </Empty>
    </div>
  );
}

/** Metrics that have a total. */
type SummedFigure = "spend" | "completed" | "failed" | "rejected" | "input_tokens" | "output_tokens";

/** If fewer than one in this many steps had requests, lines would be torn: bars are drawn. */
const maxSparseShare = 3;

/** A step without requests is drawn as a gap, not as 0. */
function hadCalls(point: OverviewPointView): boolean {
  return point.recorded_requests + point.failed + point.rejected + point.cancelled + point.interrupted > 0;
}

function OverviewCharts({ overview }: { overview: OverviewView }) {
  const { points, totals } = overview;
  const at = useMemo(() => points.map((point) => point.at), [points]);
  const values = (pick: (point: OverviewPointView) => number | null) => points.map(pick);
  const isRunning = Date.parse(overview.until) / 1000 < (at.at(-1) ?? 0) + overview.step_seconds;
  const isSparse = points.filter(hadCalls).length <= points.length / maxSparseShare;
  const area = (label: string, figure: SummedFigure, colour: Line["colour"], format = count): Line => ({
    label,
    values: values((point) => (hadCalls(point) ? point[figure] : null)),
    colour,
    shape: isSparse ? "bars" : "area",
    overall: format(totals[figure]),
  });
  const spend: Line = { ...area("credits", "spend", 1, credits), shape: "bars" };
  const requests = [
    area("completed", "completed", 1),
    area("rejected", "rejected", 3),
    area("failed", "failed", 4),
  ];
  const tokens = [
    area("input", "input_tokens", 1, shortCount),
    area("output", "output_tokens", 2, shortCount),
  ];
  const percentile = (measure: "first_byte" | "total", label: "p50" | "p95"): Line => ({
    label,
    values: values((point) => point[`${measure}_${label}_ms`]),
    colour: label === "p50" ? 1 : 3,
    ...(isSparse ? { shape: "bars" as const } : {}),
    overall: duration(totals[`${measure}_${label}_ms`]),
  });
  const latency = (title: string, measure: "first_byte" | "total") => {
    const lines = [percentile(measure, "p95"), percentile(measure, "p50")];
    return <Chart {...{ title, at, isRunning, lines }} format={duration} axis={axisDuration} whole />;
  };
  return (
    <div class="charts">
      <Chart title="Spend" at={at} isRunning={isRunning} format={credits} lines={[spend]} />
      <Chart title="Requests" at={at} isRunning={isRunning} format={count} lines={requests} whole />
      <Chart title="Tokens" at={at} isRunning={isRunning} format={shortCount} lines={tokens} whole />
      {latency("First byte", "first_byte")}
      {latency("Duration", "total")}
    </div>
  );
}

const latestCount = 5;
const failuresRead = 50;

/** An overview with the failures in it. */
interface ShownOverview {
  readonly overview: OverviewView;
  readonly failures: readonly ExchangeView[];
  /** The reason if the failures are missing. */
  readonly problem: Error | null;
}

function OverviewBody({ shown, onRetry }: { shown: ShownOverview; onRetry: () => void }) {
  const { overview, failures, problem } = shown;
  const { totals } = overview;
  const latest = groupFailures(failures).slice(0, latestCount);
  return (
    <>
      <Tiles overview={overview} />
      {problem && <Failure error={problem} onRetry={onRetry} />}
      {latest.length > 0 && <LatestFailures failures={latest} />}
      {isQuiet(overview) ? <NoTraffic /> : <OverviewCharts overview={overview} />}
      <div class="columns">
        <TopRows
          title="Models by spend"
          rows={overview.top_models}
          href={(row) => hrefOf(`requests?model=${encodeURIComponent(row.group ?? "")}`)}
        />
        <TopRows
          title="Keys by spend"
          rows={overview.top_keys.filter(({ spend }) => spend > 0)}
          href={(row) => hrefOf(`keys/${row.group}`)}
        />
        <TopRows
          title="Token budgets at list price"
          rows={overview.top_keys.filter(({ spend, list_cost: listed }) => spend === 0 && listed > 0)}
          href={(row) => hrefOf(`keys/${row.group}`)}
        />
        <InFlight overview={overview} />
      </div>
      <p class="unseen" aria-live="polite">
        {plural(totals.recorded_requests, "request")}, {credits(totals.spend)} credits,{" "}
        {shortCount(totals.input_tokens + totals.output_tokens)} tokens, {rate(totals.error_rate)} failed,{" "}
        {count(totals.rejected)} rejected, first byte {duration(totals.first_byte_p50_ms)}
      </p>
    </>
  );
}

function isQuiet({ totals }: OverviewView): boolean {
  return totals.recorded_requests + totals.failed + totals.rejected + totals.cancelled === 0;
}

/** Both at once, so that nothing moves when the failures arrive. */
async function loadShown(requested: OverviewRange | undefined): Promise<ShownOverview> {
  const overview = await loadOverview(requested);
  if (overview.totals.failed === 0) return { overview, failures: [], problem: null };
  const failedQuery = { outcome: "failed", since: overview.since, limit: failuresRead };
  return api.get<Page<ExchangeView>>("/requests", failedQuery).then(
    ({ data }) => ({ overview, failures: data, problem: null }),
    (problem: Error) => ({ overview, failures: [], problem }),
  );
}

/** The chosen range, or else the shortest one from a day on that has requests. */
async function loadOverview(requested: OverviewRange | undefined): Promise<OverviewView> {
  if (requested !== undefined) return api.get<OverviewView>("/overview", { range: requested });
  let shown = await api.get<OverviewView>("/overview", { range: "24h" });
  for (const range of ["7d", "30d"] as const) {
    if (!isQuiet(shown)) break;
    shown = await api.get<OverviewView>("/overview", { range });
  }
  return shown;
}

export function Overview() {
  const requested = overviewRanges.find((each) => each === query.value.get("range"));
  const loaded = useLoaded(`overview ${requested}`, () => loadShown(requested), 5000);
  const overview = loaded.value?.overview;
  return (
    <>
      <PageHead
        title="Overview"
        about={
          overview === undefined
            ? "All requests through this gateway."
            : `All requests through this gateway, ${timeRange(overview.since, overview.until)}.`
        }
      >
        <Segmented
          label="Range"
          state={[requested ?? overview?.range ?? "24h", (value) => setQuery({ range: value })]}
          choices={choicesOf(rangeNames)}
        />
      </PageHead>
      <ActiveAlerts />
      <Setup />
      <LoadedContent loaded={loaded} rows={10}>
        {(shown) => <OverviewBody shown={shown} onRetry={loaded.reload} />}
      </LoadedContent>
    </>
  );
}
