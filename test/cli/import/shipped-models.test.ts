import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../../src/config/load.ts";

const file = join(import.meta.dir, "..", "..", "..", "config", "models.toml");
const text = readFileSync(file, "utf8");

test("the shipped catalog loads, with a price and a window for every model that has one, and the day of each price", () => {
  const names = [...text.matchAll(/env:(\w+)/g)].map(([, name]) => [name, "a-key"]);
  const { settings } = loadSettings({ file, env: Object.fromEntries(names), cwd: "." });
  expect(settings.warnings).toEqual([]);
  expect(settings.models.length).toBeGreaterThan(12);
  for (const model of settings.models) {
    const hasWindow = model.contextWindow !== null || !model.serves.includes("generation");
    expect([model.id, model.price !== null || model.free, hasWindow]).toEqual([model.id, true, true]);
    expect([model.id, model.priceChecked]).toEqual([model.id, expect.stringMatching(/^2026-\d\d-\d\d$/)]);
  }
});
