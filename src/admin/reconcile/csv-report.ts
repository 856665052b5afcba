import { msPerDay } from "../../base/clock.ts";
import { withEllipsis } from "../../base/text/ellipsis.ts";
import { wholeFromDigits } from "../../base/text/typed-number.ts";
import {
  nanoUsd,
  type ReportMetric,
  reportMetrics,
  UnreadableReport,
  type UsageReportLine,
} from "../../vendors/usage-report.ts";
import { isoMs } from "../moments.ts";

type Column = ReportMetric | "date" | "model";

/** Accepted column names; each metric's own name is accepted too. */
const columns: Readonly<Record<string, Column>> = {
  ...Object.fromEntries(reportMetrics.map((figure) => [figure, figure])),
  date: "date",
  day: "date",
  model: "model",
  input_tokens: "input",
  cached_input: "cached",
  cached_input_tokens: "cached",
  cache_write_tokens: "cache_writes",
  output_tokens: "output",
  cost_usd: "cost",
};

/** A table with a line for each day and model. Cached input is part of the input; an empty field counts as not reported. */
export function readCsvReport(text: string): readonly UsageReportLine[] {
  const [header = [], ...rows] = csvRows(text);
  const places = placesOf(header);
  if (!places.has("date") || !reportMetrics.some((name) => places.has(name))) {
    throw new UnreadableReport(
      "unknown format. Pass an OpenAI or Anthropic report (JSON), or a CSV file with a header of these columns: date, model, input, cached, cache_writes, output, requests, cost.",
    );
  }
  return rows.map((row, index) => {
    try {
      return lineOf((name) => (row[places.get(name) ?? -1] ?? "").trim());
    } catch (error) {
      if (!(error instanceof UnreadableReport)) throw error;
      throw new UnreadableReport(`line ${index + 2}: ${error.message}`);
    }
  });
}

/** The index of each known column. Of several columns with the same name the last one counts. */
function placesOf(header: readonly string[]): ReadonlyMap<Column, number> {
  const places = new Map<Column, number>();
  for (const [place, title] of header.entries()) {
    const name =
      columns[
        title
          .trim()
          .toLowerCase()
          .replaceAll(/[\s-]+/g, "_")
      ];
    if (name !== undefined) places.set(name, place);
  }
  return places;
}

const maxShown = 40;

function lineOf(field: (name: Column) => string): UsageReportLine {
  const date = field("date");
  const atMs = isoMs(date);
  if (atMs === null)
    throw new UnreadableReport(
      `date must be a day such as 2026-10-31, not "${withEllipsis(date, maxShown)}".`,
    );
  const reported = reportMetrics.filter((name) => field(name) !== "");
  const figures = Object.fromEntries(reported.map((name) => [name, figureOf(name, field(name))]));
  return { day: Math.floor(atMs / msPerDay), model: field("model") || null, figures };
}

function figureOf(name: ReportMetric, text: string): number {
  if (name === "cost") return nanoUsd(text.replace(/^\$/, ""));
  const figure = wholeFromDigits(text);
  if (figure !== null) return figure;
  throw new UnreadableReport(`${name} must be a whole number, not "${withEllipsis(text, maxShown)}".`);
}

const csvField = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;

/** Without empty lines. */
function csvRows(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  csvField.lastIndex = text.startsWith("\uFEFF") ? 1 : 0;
  while (csvField.lastIndex < text.length) {
    const [, quoted, plain, end] = csvField.exec(text) ?? [];
    if (end === undefined) throw new UnreadableReport(`line ${rows.length + 1}: a quote is not closed.`);
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end === ",") continue;
    if (row.some((each) => each !== "")) rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}
