import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../src/config/load.ts";

const folder = new URL("../../config", import.meta.url).pathname;
const files = readdirSync(folder).filter((file) => file.endsWith(".toml"));

/** An environment with every variable that a file refers to. */
function everyKeyOf(file: string): Record<string, string> {
  const names = readFileSync(join(folder, file), "utf8").matchAll(/"env:(\w+)"/g);
  return Object.fromEntries(Array.from(names, ([, name = ""]) => [name, `key-of-${name}`]));
}

test.each(files)("config/%s is sound, and warns of nothing but secrets that are not here", (file) => {
  const { settings } = loadSettings({ file: join(folder, file), env: everyKeyOf(file) });
  expect(settings.models.length).toBeGreaterThan(0);
  expect(settings.warnings.filter((warning) => !warning.includes("/run/secrets/"))).toEqual([]);
});
