import { describe, expect, test } from "bun:test";
import { readReports } from "../../../src/admin/reconcile/read-report.ts";
import {
  anthropicCostPage,
  anthropicUsagePage,
  openAiCost,
  openAiCostsPage,
  openAiPageOf,
  openAiUsage,
  openAiUsagePages,
} from "./saved-answers.ts";

const [firstPage = "", lastPage = ""] = openAiUsagePages;
const october = Date.UTC(2026, 9, 1) / 86_400_000;

function read(...texts: readonly string[]) {
  return readReports(texts.map((text, index) => ({ name: `file ${index + 1}`, text })));
}

describe("a bill is read", () => {
  test("of OpenAI's usage, page by page, where cached input is part of the input", () => {
    const figures = { requests: 5, input: 1000, cached: 800, cache_writes: 0, output: 500 };
    const lines = [
      { day: october, model: "gpt-5.6-2026-04-23", figures },
      { day: october, model: "gpt-5.6-mini", figures },
      { day: october + 1, model: "gpt-5.6-2026-04-23", figures: { ...figures, cached: 0 } },
    ];
    const metrics = new Set(["requests", "input", "cached", "cache_writes", "output"] as const);
    expect(read(firstPage, lastPage)).toEqual({ lines, metrics });
    // As a list of pages, as a page a line, and given twice.
    expect(read(`[${firstPage}, ${lastPage}]`).lines).toEqual(lines);
    expect(read(`${firstPage}\n${lastPage}\n`).lines).toEqual(lines);
    expect(read(firstPage, lastPage, firstPage).lines).toEqual(lines);
  });

  test("of OpenAI's costs, whose line items name the model first", () => {
    expect(read(openAiCostsPage)).toEqual({
      lines: [
        { day: october, model: "gpt-5.6-2026-04-23", figures: { cost: 60_000_000 } },
        { day: october, model: "gpt-5.6-2026-04-23", figures: { cost: 12_345_679 } },
        { day: october, model: "gpt-5.6-mini", figures: { cost: 100 } },
        { day: october, model: "web search tool calls", figures: { cost: 500_000_000 } },
      ],
      metrics: new Set(["cost"]),
    });
    expect(read(openAiPageOf([[openAiCost(null, 1)]], 0, null)).lines).toEqual([
      { day: october, model: null, figures: { cost: 1_000_000_000 } },
    ]);
  });

  test("of Anthropic's usage report, where what a cache reads and writes is beside the input", () => {
    const figures = { input: 3200, cached: 200, cache_writes: 1500, output: 500 };
    expect(read(anthropicUsagePage)).toEqual({
      lines: [{ day: october, model: "claude-opus-4-7-20260416", figures }],
      metrics: new Set(["input", "cached", "cache_writes", "output"]),
    });
  });

  test("of Anthropic's cost report, in cents", () => {
    expect(read(anthropicCostPage).lines).toEqual([
      { day: october, model: "claude-opus-4-7-20260416", figures: { cost: 1_237_891_200 } },
      { day: october, model: "Web Search Usage", figures: { cost: 100_000_000 } },
    ]);
  });

  test("of a CSV table, in any order of columns, with quotes and what is not told", () => {
    const text =
      '\uFEFFModel,Date,Requests,Input,Cached,Cache writes,Output,Cost,Remark\r\n"a ""b"", c",2026-10-01,5,10,4,1,2,$0.25,x\r\n\r\nd,2026-10-02,,7,,,,\r\n';
    expect(read(text)).toEqual({
      lines: [
        {
          day: october,
          model: 'a "b", c',
          figures: { requests: 5, input: 10, cached: 4, cache_writes: 1, output: 2, cost: 250_000_000 },
        },
        { day: october + 1, model: "d", figures: { input: 7 } },
      ],
      metrics: new Set(["requests", "input", "cached", "cache_writes", "output", "cost"]),
    });
  });

  test("of a CSV table with a byte order mark before a quoted title", () => {
    const lines = [{ day: october, model: "a", figures: { requests: 5 } }];
    expect(read('\uFEFF"Date","Model","Requests"\n"2026-10-01","a","5"\n').lines).toEqual(lines);
  });

  test("not of a page whose results are of two reports", () => {
    const [usage, cost] = [openAiUsage("gpt-5.6"), openAiCost("gpt-5.6, input", 1)];
    expect(() => read(openAiPageOf([[usage, cost]], 0, null))).toThrow("unknown report");
  });

  test("of several reports at once, and of pages without results", () => {
    const { lines, metrics } = read(firstPage, openAiPageOf([[], []], 1, null), openAiCostsPage);
    expect(lines.length).toBe(6);
    expect(metrics.has("cost")).toBe(true);
  });
});

describe("a bill is refused, and told why", () => {
  const cases: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
    "if its last page is missing": [firstPage, /last page of OpenAI's usage is missing/],
    "if it is one of several that is not whole": [
      `[${firstPage}, ${openAiCostsPage}]`,
      /last page of OpenAI's usage/,
    ],
    "if its buckets are longer than a day": [
      openAiPageOf([[openAiUsage("m")]], 0, null).replace('"end_time":', '"end_time":9'),
      /longer than a day/,
    ],
    "if a figure is no count": [
      openAiPageOf([[openAiUsage("m", { input_tokens: -1 })]], 0, null),
      /input_tokens is -1/,
    ],
    "if it is in another currency": [openAiPageOf([[openAiCost("m, input", 1, "eur")]], 0, null), /"eur"/],
    "if an amount is none": [
      openAiPageOf([[openAiCost("m, input", "much")]], 0, null),
      /an amount is "much"/,
    ],
    "if it is another document": [
      '{"data": [{"results": [{"object": "file"}]}]}',
      /unknown report. Sluice reads OpenAI's usage/,
    ],
    "if it has no buckets": ['{"error": {"message": "no"}}', /no list of buckets/],
    "if it is broken off": [lastPage.slice(0, 40), /not JSON/],
    "if it is a table without a date": ["model,input\na,1\n", /date, model, input/],
    "if a date is none": [
      "date,input\n31.10.2026,1\n",
      /line 2: date must be a day such as 2026-10-31, not "31.10.2026"/,
    ],
    "if a number is none": [
      "date,input\n2026-10-01,1.5\n",
      /line 2: input must be a whole number, not "1.5"/,
    ],
    "if a quote is open": ['date,input\n"2026', /quote is not closed/],
  };
  for (const [name, [text, message]] of Object.entries(cases)) {
    test(name, () => expect(() => read(text)).toThrow(message));
  }
});
