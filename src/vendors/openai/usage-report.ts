import { msPerDay } from "../../base/clock.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { nonEmpty } from "../../dialects/json/json-fields.ts";
import { bearer } from "../credentials/credential.ts";
import {
  nanoUsd,
  readCount,
  rejectOtherCurrencies,
  UnreadableReport,
  type UsageReport,
  type VendorUsageReports,
  withQuery,
} from "../usage-report.ts";

const secondsPerDay = msPerDay / 1000;
/** The most that both answer with at once, in days. */
const daysPerPage = "31";

function dayOf({ start_time: start, end_time: end }: JsonObject): number {
  if (typeof start !== "number") throw new UnreadableReport("a bucket has no start_time.");
  if (typeof end === "number" && end - start > secondsPerDay) {
    throw new UnreadableReport("its buckets are longer than a day; use bucket_width=1d.");
  }
  return Math.floor(start / secondsPerDay);
}

function pathTo(path: string, groupBy: string): UsageReport["path"] {
  return (fromDay, throughDay, page) =>
    withQuery(path, {
      start_time: String(fromDay * secondsPerDay),
      end_time: String((throughDay + 1) * secondsPerDay),
      bucket_width: "1d",
      group_by: groupBy,
      limit: daysPerPage,
      page,
    });
}

/** https://platform.openai.com/docs/api-reference/usage: cached input, and what is written to a cache, are parts of the input. */
const usage: UsageReport = {
  name: "OpenAI's usage",
  metrics: ["requests", "input", "cached", "cache_writes", "output"],
  path: pathTo("/organization/usage/completions", "model"),
  recognises: ({ object }) => typeof object === "string" && /^organization\.usage\.\w+\.result$/.test(object),
  dayOf,
  read: (result) => ({
    model: nonEmpty(result["model"]),
    figures: {
      requests: readCount(result, "num_model_requests"),
      input: readCount(result, "input_tokens"),
      cached: readCount(result, "input_cached_tokens"),
      cache_writes: readCount(result, "input_cache_write_tokens"),
      output: readCount(result, "output_tokens"),
    },
  }),
};

/**
 * `gpt-5.5-2026-04-23, cached input`, or with the tier and the modality: `priority | gpt-audio-mini audio, output`. Costs without
 * a model, such as `web search tool calls`, keep their own name.
 */
function modelOf(lineItem: string | null): string | null {
  const [, model] = /^(?:[^|,]+\|\s*)?([^\s,|]+)[^,]*,/.exec(lineItem ?? "") ?? [];
  return model ?? lineItem;
}

/** https://platform.openai.com/docs/api-reference/usage/costs */
const costs: UsageReport = {
  name: "OpenAI's costs",
  metrics: ["cost"],
  path: pathTo("/organization/costs", "line_item"),
  recognises: ({ object }) => object === "organization.costs.result",
  dayOf,
  read: (result) => {
    const { value, currency } = isObject(result["amount"]) ? result["amount"] : {};
    rejectOtherCurrencies(currency);
    return { model: modelOf(nonEmpty(result["line_item"])), figures: { cost: nanoUsd(value) } };
  },
};

export const openAiReports: VendorUsageReports = { reports: [usage, costs], headers: bearer };
