import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkProviders } from "../../../src/admin/models/check-providers.ts";
import type { ModelCheckView } from "../../../src/admin/models/schema.ts";
import { loadSettings } from "../../../src/config/load.ts";
import { json, openAiError, redirect, text } from "../../support/answers.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { newFolder } from "../../support/new-folder.ts";
import { type Script, startProvider } from "../../support/provider.ts";

const provider = startProvider();
afterAll(() => provider.stop());

const secret = "sk-canary-0123456789";

async function check(kind: string, script: Script | null, more = ""): Promise<ModelCheckView> {
  provider.reset();
  provider.script(script);
  const isBare = kind === "anthropic" || kind === "gemini";
  const base = isBare ? provider.url : `${provider.url}/v1`;
  return checkAt(base, kind, more);
}

async function checkAt(base: string, kind = "openai", more = ""): Promise<ModelCheckView> {
  const file = join(newFolder(), "sluice.toml");
  writeFileSync(
    file,
    `[providers.it]\nkind = "${kind}"\nbase_url = "${base}"\napi_key = "env:KEY"\n${more}
     [[models]]\nid = "m"\nprovider = "it"\nupstream_model = "theirs"\nfree = true`,
  );
  const [result] = await checkProviders(loadSettings({ file, env: { KEY: secret } }).settings);
  if (result === undefined) throw new Error("there was no check");
  return result;
}

function load(credentials: string, models: string) {
  const file = join(newFolder(), "sluice.toml");
  const provided = `[providers.it]\nkind = "openai"\nbase_url = "${provider.url}/v1"\n${credentials}`;
  writeFileSync(file, `${provided}\n${models}`);
  return loadSettings({ file, env: { A: "sk-check-first", B: "sk-check-second" } });
}

describe("one small request", () => {
  test("is not sent to a model that does not generate", async () => {
    provider.reset();
    const embeds = '[[models]]\nid = "e"\nprovider = "it"\nserves = ["embeddings"]\nfree = true';
    const { settings } = load('api_key = "env:A"', embeds);
    for (const model of [undefined, ...settings.models]) {
      const [result] = await checkProviders(settings, model);
      expect(result).toMatchObject({
        ok: false,
        status: null,
        problem: expect.stringContaining("no LLM uses this provider"),
      });
    }
    expect(provider.requests).toEqual([]);
  });

  test("goes out in the provider's own dialect, with its credential and a small limit", async () => {
    expect(await check("openai", null)).toMatchObject({ ok: true, status: 200, problem: null });
    expect(provider.requests).toHaveLength(1);
    expect(provider.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "theirs", max_completion_tokens: 16 },
    });
    expect(provider.requests[0]?.headers["authorization"]).toBe(`Bearer ${secret}`);
    expect(await check("openai-compatible", null)).toMatchObject({ ok: true, dialect: "chat" });
    expect(provider.requests[0]?.body).toHaveProperty("max_tokens", 16);
    expect(await check("anthropic", null)).toMatchObject({ ok: true, dialect: "messages" });
    expect(provider.requests[0]).toMatchObject({ path: "/v1/messages", body: { max_tokens: 16 } });
    expect(await check("gemini", null)).toMatchObject({ ok: true, dialect: "gemini" });
    expect(provider.requests[0]).toMatchObject({
      path: "/v1beta/models/theirs:generateContent",
      body: { generationConfig: { maxOutputTokens: 16 } },
    });
    expect(await check("openai", null, 'dialects = ["responses"]')).toMatchObject({ ok: true });
    expect(provider.requests[0]).toMatchObject({ path: "/v1/responses", body: { max_output_tokens: 16 } });
  });

  test("is not sent where no model uses the provider", async () => {
    const file = join(newFolder(), "sluice.toml");
    writeFileSync(file, `[providers.it]\nkind = "openai"\nbase_url = "${provider.url}/v1"`);
    const [result] = await checkProviders(loadSettings({ file, env: {} }).settings);
    expect(result).toMatchObject({
      ok: false,
      problem: "skipped: no LLM uses this provider",
    });
  });

  test("goes out with each key of a pool, and says which one is refused", async () => {
    provider.reset();
    provider.script((request) =>
      request.headers["authorization"] === "Bearer sk-check-second"
        ? openAiError(401, "no such key")
        : usualResponse(request),
    );
    const { settings } = load(
      'api_key = ["env:A", "env:B"]',
      '[[models]]\nid = "m"\nprovider = "it"\nfree = true',
    );
    expect(await checkProviders(settings)).toMatchObject([
      { provider: "it", key: 1, ok: true },
      { provider: "it", key: 2, ok: false, problem: "401 no such key; check api_key" },
    ]);
    expect(provider.requests).toHaveLength(2);
  });

  test("goes to every deployment of the model that is named, and to no other", async () => {
    provider.reset();
    provider.script((request) =>
      request.body["model"] === "misspelled" ? openAiError(404, "no such model") : usualResponse(request),
    );
    const { settings } = load(
      'api_key = "env:A"',
      `[[models]]\nid = "other"\nprovider = "it"\nfree = true
       [[models]]\nid = "m"\nfree = true
       [[models.deployments]]\nprovider = "it"\nupstream_model = "theirs"
       [[models.deployments]]\nprovider = "it"\nupstream_model = "misspelled"`,
    );
    const model = settings.models.find(({ id }) => id === "m");
    expect(await checkProviders(settings, model)).toMatchObject([
      { upstream_model: "theirs", key: null, ok: true },
      { upstream_model: "misspelled", key: null, ok: false, status: 404 },
    ]);
    expect(provider.requests).toHaveLength(2);
  });

  test("is answered by the built-in demo", async () => {
    const file = join(newFolder(), "none.toml");
    writeFileSync(
      file,
      '[providers.demo]\nkind = "demo"\n[[models]]\nid = "d"\nprovider = "demo"\nfree = true',
    );
    expect(await checkProviders(loadSettings({ file, env: {} }).settings)).toMatchObject([{ ok: true }]);
  });
});

describe("what is wrong is told with what to do", () => {
  const cases: readonly (readonly [string, Script, string])[] = [
    ["a wrong key", openAiError(401, "no such key."), "401 no such key; check api_key"],
    [
      "a wrong model",
      openAiError(404, "no such model"),
      "404 no such model; check base_url and upstream_model",
    ],
    [
      "a busy minute",
      openAiError(429, "slow down"),
      "429 slow down; the account is over its quota or rate limit",
    ],
    [
      "an empty purse",
      json(
        { error: { message: "pay first", type: "insufficient_quota", code: "insufficient_quota" } },
        { status: 429 },
      ),
      "429 pay first; the account is out of credit or over its spending limit; see the provider's billing page",
    ],
    [
      "a broken provider",
      text("oops", "text/html", { status: 500 }),
      "500; the provider has a problem; try again later",
    ],
    ["a redirect", redirect("http://127.0.0.1:1/"), "307; check base_url and upstream_model"],
    ["a web page", text("<html>", "text/html"), "the response is not JSON; check base_url"],
    ["an error in a good status", json({ error: { message: "not today" } }), "not today"],
  ];

  test.each(cases)("%s", async (_name, script, problem) => {
    expect(await check("openai", script)).toMatchObject({ ok: false, problem });
  });

  test("nobody there", async () => {
    const result = await checkAt("http://127.0.0.1:1/v1");
    expect(result).toMatchObject({ ok: false, status: null });
    expect(result.problem).toStartWith("cannot be reached");
  });

  test("a refusal that repeats the key does not repeat it here", async () => {
    const { problem } = await check("openai", openAiError(401, `bad key ${secret}`));
    expect(problem).toContain("bad key [secret]");
  });
});
