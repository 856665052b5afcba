import { afterAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findConfig } from "../../src/config/source.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const systemFile = join(folder, "etc.toml");
const found = (env = {}) => findConfig({ env, cwd: folder, systemFile }).file;

test("the system's configuration is the last that is looked for before the built-in one", () => {
  expect(found()).toBeNull();
  writeFileSync(systemFile, "");
  expect(found()).toBe(systemFile);
  writeFileSync(join(folder, "sluice.toml"), "");
  expect(found()).toBe(join(folder, "sluice.toml"));
  writeFileSync(join(folder, "named.toml"), "");
  expect(found({ SLUICE_CONFIG: "named.toml" })).toBe(join(folder, "named.toml"));
});
