import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";
import { load, problemsOf } from "./fixtures.ts";

const provider = (key: string, more = "") => `
  [providers.openai]
  kind = "openai"
  api_key = ${key}
  ${more}
  [providers.demo]
  kind = "demo"
  [[models]]
  id = "gpt"
  provider = "openai"
  price = { input = 1, output = 2 }
  [[models]]
  id = "house"
  free = true
  fallbacks = ["gpt"]
  deployments = [{ provider = "openai" }, { provider = "demo" }]`;

describe("secrets", () => {
  test("env:NAME and file:/path are read, surrounding white space is not part of them", () => {
    const file = join(newFolder(), "key");
    writeFileSync(file, "sk-from-file\n");
    const keys = (toml: string, env = {}) => load(toml, { env }).settings.providers.get("openai")?.apiKeys;
    expect(keys(provider('"env:KEY"'), { KEY: " sk-from-env " })).toEqual(["sk-from-env"]);
    expect(keys(provider(`"file:${file}"`))).toEqual(["sk-from-file"]);
    expect(keys(provider(`["env:KEY", "file:${file}"]`), { KEY: "a" })).toEqual(["a", "sk-from-file"]);
  });

  test("a plain secret is refused with advice and is not repeated", () => {
    const [problem, ...more] = problemsOf(provider('"sk-canary-1234"'));
    expect(problem).toStartWith("providers.openai.api_key: secrets are not allowed in this file");
    expect(problem).toContain("env:NAME");
    expect(problem).not.toContain("canary");
    expect(more).toEqual([]);
  });

  test("headers that carry credentials must refer to a secret, others may be plain", () => {
    expect(problemsOf(provider('"env:KEY"', 'headers = { Authorization = "Bearer canary" }'))).toHaveLength(
      1,
    );
    const { settings } = load(provider('"env:KEY"', 'headers = { X-Team = "blue", X-Api-Key = "env:KEY" }'), {
      env: { KEY: "k" },
    });
    expect(settings.providers.get("openai")?.headers).toEqual({ "x-team": "blue", "x-api-key": "k" });
  });

  // As Latin-1, which heads are sent in, the second is "Po", a carriage return, and "et".
  test.each(["a\\nb", "Počet"])("a header's value that no head can have is refused: %s", (value) => {
    const said = /^providers\.openai\.headers\.X-Title: has a line break or a character outside Latin-1/;
    expect(problemsOf(provider('"env:KEY"', `headers = { X-Title = "${value}" }`))).toEqual([
      expect.stringMatching(said),
    ]);
    const env = { KEY: "k", TITLE: "Počet" };
    expect(problemsOf(provider('"env:KEY"', 'headers = { X-Title = "env:TITLE" }'), { env })).toEqual([
      expect.stringMatching(said),
    ]);
  });

  test("a secret of several lines is refused, because it is sent in a header", () => {
    expect(problemsOf(provider('"env:KEY"'), { env: { KEY: "a\nb" } })[0]).toContain("more than one line");
  });
});

describe("a provider whose key is not set", () => {
  test("has a short warning, even if it serves a whole catalog", () => {
    const { settings } = load(
      '[providers.openai]\nkind = "openai"\napi_key = "env:OPENAI_API_KEY"\nmodels = "catalog"\n',
    );
    expect(settings.warnings[0]).toMatch(/not listed: (?:[\w.-]+, ){4}[\w.-]+ and \d+ more$/);
  });

  test("is left out with a warning that names its models, which are not listed", () => {
    const { settings } = load(provider('"env:OPENAI_API_KEY"'));
    expect([...settings.providers.keys()]).toEqual(["demo"]);
    expect(settings.models.map((model) => model.id)).toEqual(["house"]);
    expect(settings.models[0]?.deployments.map((deployment) => deployment.provider)).toEqual(["demo"]);
    expect(settings.models[0]?.fallbacks).toEqual([]);
    expect(settings.warnings).toEqual([
      'provider "openai" is skipped: OPENAI_API_KEY is not set; not listed: gpt',
    ]);
  });

  test("also when the variable is empty or the file is missing", () => {
    expect(load(provider('"env:KEY"'), { env: { KEY: "" } }).settings.providers.has("openai")).toBe(false);
    expect(load(provider('"file:/nowhere/key"')).settings.warnings[0]).toContain(
      "/nowhere/key does not exist",
    );
  });

  test("keeps working with the rest of its pool", () => {
    const { settings } = load(provider('["env:ONE", "env:TWO"]'), { env: { TWO: "2" } });
    expect(settings.providers.get("openai")?.apiKeys).toEqual(["2"]);
    expect(settings.warnings[0]).toBe('provider "openai" uses fewer keys: ONE is not set');
  });

  test("is left out when the vendor's own address has no api_key, but not behind an address of one's own", () => {
    const bare = '[providers.openai]\nkind = "openai"\n';
    expect(load(bare).settings.warnings[0]).toBe('provider "openai" is skipped: it has no api_key');
    const { settings } = load(`${bare}base_url = "http://127.0.0.1:1/v1"`);
    expect(settings.providers.get("openai")?.apiKeys).toEqual([]);
  });
});

describe("warnings", () => {
  test("a provider cannot count tokens without the dialect that asks for it", () => {
    const warnings = (dialects: string) =>
      load(
        `[providers.x]\nkind = "openai-compatible"\nbase_url = "http://x/v1"\ncount_tokens = true\n${dialects}`,
      ).settings.warnings.filter((warning) => warning.includes("count_tokens"));
    expect(warnings("")).toEqual([
      'providers.x.count_tokens (line 4) has no effect: add "messages" to the provider\'s dialects',
    ]);
    expect(warnings('dialects = ["chat", "messages"]')).toEqual([]);
  });

  test("a model without a price is reported, because credit keys cannot use it", () => {
    const { settings } = load('[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"');
    expect(settings.warnings).toEqual([
      'model "m" (line 3) has no price, so credit keys cannot use it; set a price or free = true',
    ]);
  });

  test("a configuration without any model is reported", () => {
    expect(load("").settings.warnings).toEqual(["no model to serve; add [[models]] to the configuration"]);
  });

  test("an address that will not match what its kind appends is reported", () => {
    const of = (kind: string, url: string) =>
      load(`[providers.x]\nkind = "${kind}"\nbase_url = "${url}"`).settings.warnings.join("\n");
    expect(of("anthropic", "http://h/v1")).toContain("ends in /v1");
    expect(of("openai", "http://h")).toContain("usually end in /v1");
    expect(() => of("openai-compatible", "http://h/v1/chat/completions/")).toThrow(
      "before /chat/completions",
    );
    expect(() => of("anthropic", "http://h/v1/messages")).toThrow("before /messages");
    expect(of("gemini", "http://h/v1beta/openai")).toContain('for kind "openai-compatible"');
  });
});
