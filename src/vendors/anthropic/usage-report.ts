import { msPerDay } from "../../base/clock.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { nonEmpty } from "../../dialects/json/json-fields.ts";
import {
  isoDay,
  nanoUsd,
  readCount,
  rejectOtherCurrencies,
  UnreadableReport,
  type UsageReport,
  type VendorUsageReports,
  withQuery,
} from "../usage-report.ts";

/** Maximum days per page in both reports. */
const daysPerPage = "31";
const centsPerUsd = 100;

function dayOf(bucket: JsonObject): number {
  const startMs = Date.parse(nonEmpty(bucket["starting_at"]) ?? "");
  if (Number.isNaN(startMs)) throw new UnreadableReport("a bucket has no starting_at.");
  return Math.floor(startMs / msPerDay);
}

function pathTo(path: string, groupBy: string): UsageReport["path"] {
  return (fromDay, throughDay, page) =>
    withQuery(path, {
      starting_at: isoDay(fromDay),
      ending_at: isoDay(throughDay + 1),
      bucket_width: "1d",
      "group_by[]": groupBy,
      limit: daysPerPage,
      page,
    });
}

/** https://platform.claude.com/docs/en/api/admin/usage_report: the input does not include cache reads and writes. */
const usage: UsageReport = {
  name: "Anthropic's usage report",
  metrics: ["input", "cached", "cache_writes", "output"],
  path: pathTo("/v1/organizations/usage_report/messages", "model"),
  recognises: (result) => "uncached_input_tokens" in result,
  dayOf,
  read: (result) => {
    const cached = readCount(result, "cache_read_input_tokens");
    const written = isObject(result["cache_creation"]) ? Object.keys(result["cache_creation"]) : [];
    const cacheWrites = written.reduce(
      (sum, name) => sum + readCount(result["cache_creation"] as JsonObject, name),
      0,
    );
    return {
      model: nonEmpty(result["model"]),
      figures: {
        input: readCount(result, "uncached_input_tokens") + cached + cacheWrites,
        cached,
        cache_writes: cacheWrites,
        output: readCount(result, "output_tokens"),
      },
    };
  },
};

/** https://platform.claude.com/docs/en/api/admin/cost_report: in cents, as decimal text. Costs without a model keep their own name. */
const costs: UsageReport = {
  name: "Anthropic's cost report",
  metrics: ["cost"],
  path: pathTo("/v1/organizations/cost_report", "description"),
  recognises: (result, bucket) => typeof result["amount"] === "string" && "starting_at" in bucket,
  dayOf,
  read: (result) => {
    rejectOtherCurrencies(result["currency"]);
    return {
      model: nonEmpty(result["model"]) ?? nonEmpty(result["description"]) ?? nonEmpty(result["cost_type"]),
      figures: { cost: nanoUsd(result["amount"], centsPerUsd) },
    };
  },
};

export const anthropicReports: VendorUsageReports = {
  reports: [usage, costs],
  headers: (adminKey) => ({ "x-api-key": adminKey, "anthropic-version": "2023-06-01" }),
};
