import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../src/config/load.ts";

const folder = new URL("../../config", import.meta.url).pathname;
const files = readdirSync(folder).filter((file) => file.endsWith(".toml"));

const everyKey = {
  OPENAI_API_KEY: "a",
  OPENAI_API_KEY_2: "b",
  AZURE_OPENAI_KEY: "c",
  ANTHROPIC_API_KEY: "d",
};

test.each(files)("config/%s is sound, and warns of nothing but secrets that are not here", (file) => {
  const { settings } = loadSettings({ file: join(folder, file), env: everyKey });
  expect(settings.models.length).toBeGreaterThan(0);
  expect(settings.warnings.filter((warning) => !warning.includes("/run/secrets/"))).toEqual([]);
});
