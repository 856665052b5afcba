import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { llamaModel, llamaServer, llamaWindow } from "../support/local-servers/llama-server.ts";
import { ollama } from "../support/local-servers/ollama.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { sluice } from "./fixtures.ts";

const server = startProvider();
beforeEach(() => server.reset());
afterAll(() => server.stop());

/** What `models discover --write` makes of a server. */
async function discovered(more = "") {
  const file = join(newFolder(), "sluice.toml");
  writeFileSync(
    file,
    `[providers.house]\nkind = "openai-compatible"\nbase_url = "${server.url}/v1"\n${more}`,
  );
  const at = { folder: join(file, ".."), env: { SLUICE_CONFIG: file, KEY: "sekret-of-the-house" } };
  const { code, stderr, stdout } = await sluice(at, "models", "discover", "--write");
  const models = Bun.TOML.parse(readFileSync(file, "utf8")) as { models?: Record<string, unknown>[] };
  return { at, code, stderr, stdout, models: models.models ?? [] };
}

const timeouts = { request: "1h" };

describe("the models of llama-server", () => {
  test("have the window of one slot", async () => {
    server.script(llamaServer());
    expect((await discovered()).models).toEqual([
      {
        ...{ id: llamaModel, provider: "house", context_window: llamaWindow, free: true },
        capabilities: { vision: false, effort_none: true },
        timeouts,
      },
    ]);
  });

  test("have none behind a router that has not loaded them, and are not loaded for it", async () => {
    server.script(llamaServer({ router: { cold: false, warm: true } }));
    const { models } = await discovered();
    expect(models.map(({ id, context_window: window }) => [id, window])).toEqual([
      ["cold", undefined],
      ["warm", llamaWindow],
    ]);
    const asked = server.requests.map(({ path }) => path);
    expect(asked).toEqual(["/v1/models", "/props?model=cold&autoload=false"]);
  });

  test("behind a key may cost something, which is said with what to do", async () => {
    server.script(llamaServer({ key: "sekret-of-the-house" }));
    const { stderr, models } = await discovered('api_key = "env:KEY"\n');
    expect(models).toEqual([]);
    expect(stderr).toContain('provider "house" has a key, so its models may cost something');
    expect(stderr).toContain("`free = true`");
    expect(stderr).not.toContain("sekret");
  });

  test("are not listed without the key, and it says that one has to be set", async () => {
    server.script(llamaServer({ key: "sekret" }));
    const { code, stderr } = await discovered();
    expect([code, stderr]).toEqual([1, expect.stringContaining("401; it needs a key; set api_key")]);
  });
});

describe("the models of Ollama", () => {
  const models = {
    "qwen3:8b": { capabilities: ["completion", "tools", "thinking"], trained: 40_960, running: 4096 },
    "tiny-text:latest": { capabilities: ["completion"], trained: 131_072 },
    "llava:latest": { capabilities: ["completion", "vision"], trained: 32_768, numCtx: 8192 },
    "nomic:latest": { capabilities: ["embedding"], trained: 2048 },
  };

  test("have the window that they run with or that their file sets, and else none", async () => {
    server.script(ollama(models));
    const { models: written, at } = await discovered();
    const facts = written.map(({ id, context_window: window, capabilities, serves, aliases }) => [
      id,
      { window, capabilities, serves, aliases },
    ]);
    const text = { tools: false, vision: false, reasoning: false };
    expect(Object.fromEntries(facts)).toEqual({
      "qwen3:8b": {
        window: 4096,
        capabilities: { tools: true, vision: false, reasoning: true, effort_none: true },
      },
      "tiny-text:latest": { capabilities: text, aliases: ["tiny-text"] },
      "llava:latest": { window: 8192, capabilities: { ...text, vision: true }, aliases: ["llava"] },
      "nomic:latest": { serves: ["embeddings"], aliases: ["nomic"] },
    });
    expect((await sluice(at, "config", "check")).code).toBe(0);
  });

  test("are found under the name without the tag", async () => {
    server.script(ollama({ "tiny-text:latest": models["tiny-text:latest"] }));
    const { stdout, models: added } = await discovered(
      '[[models]]\nid = "tiny"\nprovider = "house"\nupstream_model = "tiny-text"\nfree = true\n',
    );
    expect(added).toHaveLength(1);
    expect(stdout).toMatch(/tiny-text:latest\s+served/);
    expect(stdout).not.toContain("gone");
  });
});

describe("config init", () => {
  const models = { "tiny-text:latest": { capabilities: ["completion"], trained: 131_072 } };

  test.each([
    ["--local", ["--local"]],
    ["OLLAMA_HOST alone", []],
  ])("with %s adds the models of Ollama, free", async (_, options) => {
    server.script(ollama(models));
    const folder = newFolder();
    const at = { folder, env: { OLLAMA_HOST: server.url }, cwd: folder };
    const file = join(folder, "sluice.toml");
    const { code, stderr } = await sluice(at, "config", "init", file, "--yes", ...options);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const written = Bun.TOML.parse(readFileSync(file, "utf8")) as { models: object[]; providers: object };
    expect(written.providers).toMatchObject({ local: { base_url: `${server.url}/v1` } });
    expect(written.models).toContainEqual(
      expect.objectContaining({ id: "tiny-text:latest", provider: "local", free: true }),
    );
  });
});
