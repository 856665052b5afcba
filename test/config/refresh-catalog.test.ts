import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { refreshedModels } from "../../config/catalog/refresh/checked-models.ts";
import { readLists } from "../../config/catalog/refresh/lists.ts";
import { Report } from "../../config/catalog/refresh/report.ts";
import { refreshed } from "../../config/catalog/refresh/vendor-file.ts";
import type { CatalogLine } from "../../src/config/catalog/price-lists.ts";
import { newFolder } from "../support/new-folder.ts";

const entry = (input: number, more: object = {}) => ({
  ...{ litellm_provider: "groq", mode: "chat" },
  ...{ input_cost_per_token: input / 1e6, output_cost_per_token: (2 * input) / 1e6, ...more },
});

function listFile(entries: object | string, name = "list.json"): string {
  const file = join(newFolder(), name);
  writeFileSync(file, typeof entries === "string" ? entries : JSON.stringify(entries));
  return file;
}

const line = (more: Partial<CatalogLine> = {}): CatalogLine => ({
  ...{
    id: "m",
    price: { input: 1, output: 2, web_search: 5 },
    price_checked: "2026-08-08",
    source: "LiteLLM",
  },
  ...more,
});

async function refresh(lines: readonly CatalogLine[], files: readonly string[], isTold = false) {
  const { listed, skipped } = await readLists(files, "2026-11-19");
  const report = new Report();
  const known = new Set(lines.map(({ id }) => id));
  return { lines: refreshed({ name: "groq", lines, known }, listed, isTold, report), report, skipped };
}

describe("a refresh of the catalog", () => {
  test("begins the list of a new vendor with what every server with OpenAI's API has", async () => {
    const file = listFile({
      "groq/chat": entry(1),
      "groq/embedding": entry(1, { mode: "embedding", output_cost_per_token: 0 }),
      "groq/rerank": entry(1, { mode: "rerank" }),
    });
    const { lines } = await refresh([], [file]);
    expect(lines.map(({ id, serves }) => [id, serves])).toEqual([
      ["chat", undefined],
      ["embedding", ["embeddings"]],
    ]);
  });

  test("takes the price of the list, says from what to what, and keeps prices of calls", async () => {
    const cached = { cache_read_input_token_cost: 0.05 / 1e6, input_cost_per_token_batches: 0.6 / 1e6 };
    const file = listFile({ "groq/m": entry(1.5, { ...cached, output_cost_per_token_batches: 1.4 / 1e6 }) });
    const { lines, report } = await refresh([line()], [file]);
    expect(lines).toEqual([
      {
        ...{ id: "m", price_checked: "2026-11-19", source: "LiteLLM" },
        price: {
          ...{ input: 1.5, output: 3, cached_input: 0.05, web_search: 5 },
          // No rate of the tier is derived from another one.
          tiers: { batch: { input: 0.6, output: 1.4 } },
        },
      },
    ]);
    expect(report.changed).toEqual([
      "groq/m: input 1 → 1.5, output 2 → 3, cached_input 0.05, tiers.batch.input 0.6, tiers.batch.output 1.4 (LiteLLM 2026-11-19)",
    ]);
    expect(report.large).toEqual([]);
  });

  test("counts a change of more than three times as large, and none to nothing", async () => {
    const { report } = await refresh([line()], [listFile({ "groq/m": entry(3.1) })]);
    expect(report.large).toHaveLength(1);
    const free = await refresh([line()], [listFile({ "groq/m": entry(0) })]);
    expect(free.lines).toEqual([line()]);
  });

  test("leaves a line with a note unless it is told", async () => {
    const noted = line({ note: "by the vendor's own list" });
    const file = listFile({ "groq/m": entry(1.5) });
    const left = await refresh([noted], [file]);
    expect([left.lines, left.report.left.length]).toEqual([[noted], 1]);
    const told = await refresh([noted], [file], true);
    expect(told.lines[0]).toMatchObject({ price: { input: 1.5 } });
    expect(told.lines[0]).not.toHaveProperty("note");
  });

  test("believes the newer of two lists, and a line that is newer than both", async () => {
    const older = `${listFile({ "groq/m": entry(3), "groq/only": entry(4) })}@2026-10-01`;
    const newer = `${listFile({ "groq/m": entry(2) })}@2026-11-01`;
    const { lines } = await refresh([line()], [older, newer]);
    expect(lines.map(({ id, price, price_checked: day }) => [id, price, day])).toEqual([
      ["m", { input: 2, output: 4, web_search: 5 }, "2026-11-01"],
      ["only", { input: 4, output: 8 }, "2026-10-01"],
    ]);
    const newest = line({ price_checked: "2026-11-02" });
    expect((await refresh([newest], [newer])).lines).toEqual([newest]);
  });

  test("skips what contradicts itself, what the list has twice, and what a provider no longer serves", async () => {
    const { lines, skipped } = await refresh(
      [line()],
      [
        listFile({
          "groq/m": entry(1, { cache_read_input_token_cost: 2 / 1e6 }),
          "groq/n": entry(1, { input_cost_per_token_above_200k_tokens: 0.5 / 1e6 }),
          "groq/ended": entry(1, { deprecation_date: "2026-11-01" }),
        }),
      ],
    );
    expect(lines).toEqual([line()]);
    expect(skipped).toEqual([
      "groq/m: cached_input 2 is more than input 1",
      "groq/n: long_context.input 0.5 is less than input 1",
    ]);
  });

  test("writes the checked models in place, with the list and its day, if it is told", async () => {
    const text = `# Models\n[[models]]\nid = "m"\nprice_checked = "2026-09-01"  # by hand\nprovider = "groq"\nprice = { input = 1.0, output = 2.0, web_search = 5.0 }\n\n[[models]]\nid = "other"\nprovider = "groq"\nprice = { input = 9.0, output = 9.0 }\n`;
    const { listed } = await readLists([`${listFile({ "groq/m": entry(2) })}@2026-11-01`], "2026-11-19");
    const report = new Report();
    expect(refreshedModels(text, listed, false, report)).toBe(text);
    expect(report.left).toHaveLength(1);
    expect(refreshedModels(text, listed, true, report)).toBe(
      text
        .replace('"2026-09-01"  # by hand', '"2026-11-01"  # LiteLLM')
        .replace("input = 1.0, output = 2.0, web_search", "input = 2.0, output = 4.0, web_search"),
    );
  });

  test("reads the file that LiteLLM publishes, and refuses one that is cut off with its line", async () => {
    const whole = JSON.stringify({ "groq/m": entry(1), "groq/n": entry(2) }, null, 2);
    const cut = listFile(whole.slice(0, -30));
    const run = Bun.spawnSync(["bun", "config/catalog/refresh.ts", cut, "--dry-run"], { stderr: "pipe" });
    expect(run.exitCode).toBe(1);
    const lines = whole.slice(0, -30).trimEnd().split("\n").length;
    expect(run.stderr.toString()).toBe(
      `${cut} is not a price list: it is not JSON, and may be cut off at its end in line ${lines}\n`,
    );
  });
});
