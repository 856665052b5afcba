import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { snippetOf } from "../../../src/base/models/client-snippets.ts";
import { newFolder } from "../../support/new-folder.ts";

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Each writes its last argument. */
for (const command of ["curl", "claude", "codex", "gemini", "cline", "aider"]) {
  const file = join(folder, command);
  writeFileSync(file, '#!/bin/sh\nfor last in "$@"; do :; done\nprintf %s "$last" > said\n');
  chmodSync(file, 0o755);
}

const hostile = [
  "x; touch pwned #",
  "x'; touch pwned #'",
  "$(touch pwned)",
  "`touch pwned`",
  'x" & touch pwned "',
];
const access = { address: "http://127.0.0.1:8787/a;touch pwned", key: "slu_key" };

describe.each(hostile)("a model called %s", (model) => {
  test.each(["curl", "claude-code", "codex", "gemini-cli", "cline", "aider"] as const)(
    "is text in the command of %s",
    (client) => {
      const text = snippetOf(client).text({ ...access, model });
      const env = { PATH: `${folder}:${process.env["PATH"]}` };
      expect(Bun.spawnSync(["sh", "-c", text], { cwd: folder, env }).exitCode).toBe(0);
      expect(existsSync(join(folder, "pwned"))).toBe(false);
      const said = readFileSync(join(folder, "said"), "utf8");
      if (client === "curl") expect(JSON.parse(said).model).toBe(model);
      else expect(said).toBe(client === "aider" ? `openai/${model}` : model);
    },
  );

  test("is text in the settings of Continue and in Python", () => {
    const settings = Bun.YAML.parse(snippetOf("continue").text({ ...access, model }));
    expect(settings).toMatchObject({ models: [{ model, apiBase: `${access.address}/v1` }] });
    for (const client of ["openai", "anthropic", "langchain"] as const) {
      expect(snippetOf(client).text({ ...access, model })).toContain(`model=${JSON.stringify(model)}`);
    }
  });
});

test("an ordinary model is written without quotes", () => {
  const text = snippetOf("claude-code").text({ address: "http://h", key: "slu_key", model: "gpt-6:x/y.1" });
  expect(text).toEndWith("claude --model gpt-6:x/y.1");
});
