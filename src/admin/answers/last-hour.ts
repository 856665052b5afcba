import { creditsFromNano } from "../../base/money.ts";
import { boundsMs, type Histogram, quantileMs } from "../../observe/histogram.ts";
import type { AdminDeps } from "../deps.ts";
import type { MinuteSums } from "../live/recent-minutes.ts";
import type { OverviewView, SumsView } from "../views.ts";
import type { Charted } from "./overview.ts";

const msPerMinute = 60_000;
const shownMinutes = 60;

/** The last hour by the minute, from memory. */
export async function lastHour({ live, store, clock }: AdminDeps): Promise<Charted> {
  await live.readBack(store);
  const last = Math.floor(clock.wallMs() / msPerMinute);
  const first = last - shownMinutes + 1;
  const shown = live.minutes.between(first, last);
  const points = shown.map((sums, place) => ({
    at: (first + place) * 60,
    ...withPercentiles(sums === null ? [] : [sums]),
  }));
  return {
    stepSeconds: 60,
    points,
    totals: withPercentiles(present(shown)),
    before: plain(present(live.minutes.between(first - shownMinutes, first - 1))),
  };
}

function present(minutes: readonly (MinuteSums | null)[]): MinuteSums[] {
  return minutes.filter((sums) => sums !== null);
}

function plain(all: readonly MinuteSums[]): OverviewView["before"] {
  const sum = (pick: (one: MinuteSums) => number) => all.reduce((total, one) => total + pick(one), 0);
  return {
    requests: sum((one) => one.requests),
    errors: sum((one) => one.errors),
    input_tokens: sum((one) => one.inputTokens),
    output_tokens: sum((one) => one.outputTokens),
    spend: creditsFromNano(sum((one) => one.spentNano)),
  };
}

function withPercentiles(all: readonly MinuteSums[]): SumsView {
  const firstByte = bandsOf(all.map((one) => one.firstByte));
  const total = bandsOf(all.map((one) => one.total));
  return {
    ...plain(all),
    first_byte_p50_ms: quantileMs(0.5, firstByte),
    first_byte_p95_ms: quantileMs(0.95, firstByte),
    total_p50_ms: quantileMs(0.5, total),
    total_p95_ms: quantileMs(0.95, total),
  };
}

function bandsOf(histograms: readonly Histogram[]): { upToMs: number; requests: number }[] {
  return Array.from({ length: boundsMs.length + 1 }, (_, band) => ({
    upToMs: boundsMs[band] ?? Number.MAX_SAFE_INTEGER,
    requests: histograms.reduce((sum, one) => sum + (one.counts[band] ?? 0), 0),
  }));
}
