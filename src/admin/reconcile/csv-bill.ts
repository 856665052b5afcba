import { msPerDay } from "../../base/clock.ts";
import { wholeFromDigits } from "../../base/typed-number.ts";
import { type BillFigure, type BillLine, billFigures, nanoUsd, UnreadableBill } from "../../vendors/bill.ts";
import { isoMs } from "../operations/moments.ts";

/** By the names that a column may have; a figure also has its own. */
const columns: Readonly<Record<string, BillFigure | "date" | "model">> = {
  ...Object.fromEntries(billFigures.map((figure) => [figure, figure])),
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

/** A table with a line for each day and model. Cached input is part of the input; an empty field is not told. */
export function readCsvBill(text: string): readonly BillLine[] {
  const [header = [], ...rows] = csvRows(text);
  const names = header.map(
    (title) =>
      columns[
        title
          .trim()
          .toLowerCase()
          .replaceAll(/[\s-]+/g, "_")
      ],
  );
  if (!names.includes("date") || !names.some((name) => name !== undefined && name in figureSet)) {
    throw new UnreadableBill(
      "it is neither a report of OpenAI or Anthropic nor a CSV file whose first line names its columns: date, model, input, cached, cache_writes, output, requests, cost.",
    );
  }
  return rows.map((row, index) => {
    const fields = Object.fromEntries(names.map((name, place) => [name ?? "", (row[place] ?? "").trim()]));
    try {
      return lineOf(fields);
    } catch (error) {
      if (!(error instanceof UnreadableBill)) throw error;
      throw new UnreadableBill(`line ${index + 2}: ${error.message}`);
    }
  });
}

const figureSet: Readonly<Record<string, true>> = Object.fromEntries(billFigures.map((name) => [name, true]));

function lineOf(fields: Readonly<Record<string, string>>): BillLine {
  const atMs = isoMs(fields["date"] ?? "");
  if (atMs === null)
    throw new UnreadableBill(`the date is "${fields["date"]}", and should be one such as 2026-10-31.`);
  const told = billFigures.filter((name) => (fields[name] ?? "") !== "");
  const figures = Object.fromEntries(told.map((name) => [name, figureOf(name, fields[name] ?? "")]));
  return { day: Math.floor(atMs / msPerDay), model: fields["model"] || null, figures };
}

function figureOf(name: BillFigure, text: string): number {
  if (name === "cost") return nanoUsd(text.replace(/^\$/, ""));
  const figure = wholeFromDigits(text);
  if (figure !== null) return figure;
  throw new UnreadableBill(`${name} is "${text}", and should be a whole number.`);
}

const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;

/** Without empty lines. */
function csvRows(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  field.lastIndex = text.startsWith("\uFEFF") ? 1 : 0;
  while (field.lastIndex < text.length) {
    const [, quoted, plain, end] = field.exec(text) ?? [];
    if (end === undefined) throw new UnreadableBill(`line ${rows.length + 1}: a quote is not closed.`);
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end === ",") continue;
    if (row.some((each) => each !== "")) rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}
