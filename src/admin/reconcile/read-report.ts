import { isObject, type Json, type JsonObject, tryParse } from "../../base/json.ts";
import { usageReports } from "../../vendors/registry.ts";
import {
  type ReportMetric,
  reportMetrics,
  UnreadableReport,
  type UsageReport,
  type UsageReportLine,
} from "../../vendors/usage-report.ts";
import { readCsvReport } from "./csv-report.ts";

export interface ProviderReport {
  readonly lines: readonly UsageReportLine[];
  /** Metrics that the report has for every day and model, so that a missing line means 0. */
  readonly metrics: ReadonlySet<ReportMetric>;
}

export interface ReportFile {
  /** For messages. */
  readonly name: string;
  readonly text: string;
  /** The name of the report, if it was requested; undefined to infer it from the results. */
  readonly report?: string;
}

/**
 * Reads saved responses and tables, each recognized by its content, and adds `lines`. A file that is passed twice
 * counts once.
 */
export function readReports(
  files: readonly ReportFile[],
  lines: readonly UsageReportLine[] = [],
): ProviderReport {
  const once = new Map(files.map((file) => [`${file.report} ${file.text}`, file]));
  const pages = [...once.values()].flatMap(readFile);
  rejectMissingPages(pages);
  return joinPages([...pages, pageOf(lines)]);
}

function joinPages(pages: readonly ReportPage[]): ProviderReport {
  return {
    lines: pages.flatMap(({ lines }) => lines),
    metrics: new Set(pages.flatMap(({ metrics }) => metrics)),
  };
}

export interface ReportPage {
  /** Null for a table, and for a page without any results. */
  readonly report: UsageReport | null;
  readonly lines: readonly UsageReportLine[];
  readonly metrics: readonly ReportMetric[];
  /** The cursor of the next page; null on the last. */
  readonly next: string | null;
}

function readFile({ name, text, report }: ReportFile): readonly ReportPage[] {
  try {
    const requested = usageReports.find((each) => each.name === report) ?? null;
    const documents = documentsIn(text);
    if (documents !== null) return documents.map((document) => readPage(document, requested));
    return [pageOf(readCsvReport(text))];
  } catch (error) {
    throw error instanceof UnreadableReport ? new UnreadableReport(`${name}: ${error.message}`) : error;
  }
}

/** A page reports every metric that any of its lines has. */
function pageOf(lines: readonly UsageReportLine[]): ReportPage {
  const metrics = reportMetrics.filter((name) => lines.some(({ figures }) => figures[name] !== undefined));
  return { report: null, lines, metrics, next: null };
}

/** Accepts one page, a list of pages, or a page per line; null if it is not JSON. */
function documentsIn(text: string): readonly Json[] | null {
  if (!/^\s*[[{]/.test(text)) return null;
  const whole = tryParse(text);
  if (whole !== undefined) return Array.isArray(whole) ? whole : [whole];
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const page = tryParse(line);
    if (page === undefined) throw new UnreadableReport("not JSON.");
    return page;
  });
}

/** `requested` is the report that the page belongs to; null to infer it from the results. */
export function readPage(page: Json | undefined, requested: UsageReport | null): ReportPage {
  const buckets = isObject(page) && Array.isArray(page["data"]) ? page["data"].filter(isObject) : null;
  if (!isObject(page) || buckets === null) throw new UnreadableReport("no list of buckets (`data`) found.");
  const results = buckets.flatMap((bucket) => resultsOf(bucket).map((result) => ({ bucket, result })));
  const [first] = results;
  const report = requested ?? (first === undefined ? null : recognised(first.result, first.bucket));
  const lines = results.map(({ bucket, result }) => {
    if (report === null || !report.recognises(result, bucket)) throw unknownResult();
    return { day: report.dayOf(bucket), ...report.read(result) };
  });
  const next = page["has_more"] === true ? page["next_page"] : null;
  return { report, lines, metrics: report?.metrics ?? [], next: typeof next === "string" ? next : null };
}

function resultsOf(bucket: JsonObject): readonly JsonObject[] {
  const { results } = bucket;
  if (!Array.isArray(results)) throw new UnreadableReport("a bucket has no `results`.");
  return results.filter(isObject);
}

function recognised(result: JsonObject, bucket: JsonObject): UsageReport {
  const report = usageReports.find((each) => each.recognises(result, bucket));
  if (report === undefined) throw unknownResult();
  return report;
}

function unknownResult(): UnreadableReport {
  return new UnreadableReport(
    `unknown report. Sluice reads ${usageReports.map(({ name }) => name).join(", ")}.`,
  );
}

/** A report whose last page was not saved would look like calls that were not billed. */
function rejectMissingPages(pages: readonly ReportPage[]): void {
  for (const report of new Set(pages.map((page) => page.report))) {
    const reportPages = pages.filter((page) => page.report === report || page.lines.length === 0);
    if (reportPages.some((page) => page.next === null)) continue;
    throw new UnreadableReport(
      `The last page of ${report?.name} is missing: every page passed has \`has_more: true\`.`,
    );
  }
}
