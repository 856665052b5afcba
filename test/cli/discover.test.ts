import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/base/json.ts";
import { json, silence } from "../support/answers.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { sluice } from "./fixtures.ts";

const vendor = startProvider();
beforeEach(() => vendor.reset());
afterAll(() => vendor.stop());

const env = { KEY: "sk-the-vendors-own-key-1234" };
const header = "# Written by hand.\n";
const openAi = `[providers.openai]\nkind = "openai"\napi_key = "env:KEY"\nbase_url = "${vendor.url}/v1" # a proxy\n`;

function place(config: string) {
  const folder = newFolder();
  const file = join(folder, "sluice.toml");
  writeFileSync(file, config);
  return { folder, file, env: { ...env, SLUICE_CONFIG: file } };
}

const lists = (body: JsonObject) => vendor.script(json(body));
const openAiList = (...ids: string[]) => lists({ data: ids.map((id) => ({ id, object: "model" })) });

async function discovered(config: string, ...args: string[]) {
  const at = place(config);
  const { stdout, stderr, code } = await sluice(at, "models", "discover", ...args, "--json");
  const rows = JSON.parse(stdout || "[]") as {
    provider: string;
    model: string;
    state: string;
    price: { input: number } | null;
    by: string | null;
  }[];
  return {
    at,
    code,
    stderr,
    rows: rows.map(({ provider, model, state }) => ({ provider, model, state })),
    prices: rows.map(({ model, price, by }) => [model, price?.input ?? null, by]),
  };
}

describe("models discover", () => {
  test("says that the demo has no list to compare", async () => {
    const { stdout, code } = await sluice(
      place(
        '[providers.demo]\nkind = "demo"\n[[models]]\nid = "demo-small"\nprovider = "demo"\nfree = true\n',
      ),
      "models",
      "discover",
    );
    expect({ stdout, code }).toEqual({
      stdout: "No provider to compare: the demo has no model list.\n",
      code: 0,
    });
  });

  test("says which models are served, priced, unpriced and gone", async () => {
    openAiList("gpt-6-luna", "gpt-6-astra", "gpt-99");
    const { rows, code } = await discovered(`${openAi}models = ["gpt-6-luna", "gpt-5.6"]\n`);
    expect(code).toBe(0);
    expect(rows).toEqual([
      { provider: "openai", model: "gpt-6-luna", state: "served" },
      { provider: "openai", model: "gpt-6-astra", state: "priced" },
      { provider: "openai", model: "gpt-99", state: "unpriced" },
      { provider: "openai", model: "gpt-5.6", state: "gone" },
    ]);
    expect(
      vendor.requests.map(({ method, path, headers }) => [method, path, headers["authorization"]]),
    ).toEqual([["GET", "/v1/models", `Bearer ${env.KEY}`]]);
  });

  test("prices models by the vendor's id, by another date of it, by its family, and by the provider's list", async () => {
    openAiList("gpt-6-luna", "gpt-5.6-2026-09-09", "gpt-5.6-unheard-of");
    const openai = await discovered(`${openAi}models = ["gpt-6-luna"]\n`);
    expect(openai.prices).toEqual([
      ["gpt-6-luna", 0.1, "id"],
      ["gpt-5.6-2026-09-09", 4, "dated id"],
      ["gpt-5.6-unheard-of", null, null],
    ]);
    await sluice(openai.at, "models", "discover", "--write");
    expect(readFileSync(openai.at.file, "utf8")).toContain(
      '[[models]]\nid = "gpt-5.6-2026-09-09"\nprice_checked',
    );
    vendor.script(({ path }) =>
      path.startsWith("/foundation-models")
        ? json({ modelSummaries: [] })
        : json({ inferenceProfileSummaries: [{ inferenceProfileId: "ca.anthropic.claude-opus-5-5" }] }),
    );
    const bedrock = `[providers.b]\nkind = "bedrock"\nregion = "eu-west-1"\nbase_url = "${vendor.url}"\naccess_key_id = "env:KEY"\nsecret_access_key = "env:KEY"\n`;
    expect((await discovered(bedrock)).prices).toEqual([["ca.anthropic.claude-opus-5-5", 4.4, "family"]]);
    vendor.reset();
    lists({ data: [{ id: "maker/model", pricing: { prompt: "0.000002", completion: "0.000004" } }] });
    const router = `[providers.r]\nkind = "openai-compatible"\nbase_url = "${vendor.url}/v1"\napi_key = "env:KEY"\n`;
    expect((await discovered(router)).prices).toEqual([["maker/model", 2, "provider"]]);
  });

  test("reads Anthropic's pages with its version and key", async () => {
    vendor.script([
      json({ data: [{ id: "claude-opus-5-5" }], has_more: true, last_id: "claude-opus-5-5" }),
      json({ data: [{ id: "claude-haiku-5-5" }], has_more: false }),
    ]);
    const { rows } = await discovered(
      `[providers.a]\nkind = "anthropic"\napi_key = "env:KEY"\nbase_url = "${vendor.url}"\nmodels = "catalog"\n`,
    );
    expect(rows.filter(({ state }) => state === "served")).toHaveLength(2);
    expect(vendor.requests.map(({ path }) => path)).toEqual([
      "/v1/models?limit=1000",
      "/v1/models?limit=1000&after_id=claude-opus-5-5",
    ]);
    expect(vendor.requests[0]?.headers).toMatchObject({
      "x-api-key": env.KEY,
      "anthropic-version": "2023-06-01",
    });
  });

  test("reads Gemini's names and Azure's deployments", async () => {
    lists({ models: [{ name: "models/gemini-3.8-flash", inputTokenLimit: 1_048_576 }] });
    const gemini = `[providers.g]\nkind = "gemini"\napi_key = "env:KEY"\nbase_url = "${vendor.url}"\n`;
    expect((await discovered(gemini)).rows).toEqual([
      { provider: "g", model: "gemini-3.8-flash", state: "priced" },
    ]);
    expect(vendor.requests[0]).toMatchObject({
      path: "/v1beta/models?pageSize=1000",
      headers: { "x-goog-api-key": env.KEY },
    });
    openAiList("our-deployment");
    const azure = `[providers.z]\nkind = "azure"\napi_key = "env:KEY"\nbase_url = "${vendor.url}/openai/v1"\n`;
    expect((await discovered(azure)).rows).toEqual([
      { provider: "z", model: "our-deployment", state: "unpriced" },
    ]);
    expect(vendor.requests[1]).toMatchObject({
      path: "/openai/deployments?api-version=2022-12-01",
      headers: { "api-key": env.KEY },
    });
  });

  test("reads Bedrock's models and profiles, which are signed for, and Vertex AI's publishers", async () => {
    vendor.script(({ path }) =>
      path.startsWith("/foundation-models")
        ? json({ modelSummaries: [{ modelId: "amazon.nova-lite-v1:0" }] })
        : json({ inferenceProfileSummaries: [{ inferenceProfileId: "global.anthropic.claude-opus-5-5" }] }),
    );
    const bedrock = `[providers.b]\nkind = "bedrock"\nregion = "us-east-1"\nbase_url = "${vendor.url}"\naccess_key_id = "env:KEY"\nsecret_access_key = "env:KEY"\n`;
    const { rows, at } = await discovered(bedrock);
    expect(rows).toEqual([
      { provider: "b", model: "amazon.nova-lite-v1:0", state: "priced" },
      { provider: "b", model: "global.anthropic.claude-opus-5-5", state: "priced" },
    ]);
    expect(vendor.requests.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      "GET /foundation-models?byInferenceType=ON_DEMAND",
      "GET /inference-profiles?maxResults=1000&type=SYSTEM_DEFINED",
    ]);
    for (const { headers } of vendor.requests) {
      expect(headers["authorization"]).toContain(
        "/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date,",
      );
    }
    await sluice(at, "models", "discover", "--write");
    expect(readFileSync(at.file, "utf8")).toContain('id = "claude-opus-5-5"');
    expect(readFileSync(at.file, "utf8")).toContain('upstream_model = "global.anthropic.claude-opus-5-5"');
    vendor.reset();
    vendor.script(({ path }) =>
      path.includes("/google/")
        ? json({ publisherModels: [{ name: "publishers/google/models/gemini-3.8-flash" }] })
        : json({ publisherModels: [{ name: "publishers/anthropic/models/claude-haiku-5-5" }] }),
    );
    const vertex = `[providers.v]\nkind = "vertex"\nproject = "p"\napi_key = "env:KEY"\nbase_url = "${vendor.url}"\nmodels = ["claude-*"]\n`;
    expect((await discovered(vertex)).rows.slice(0, 2)).toEqual([
      { provider: "v", model: "gemini-3.8-flash", state: "priced" },
      { provider: "v", model: "claude-haiku-5-5", state: "served" },
    ]);
    expect(vendor.requests[0]).toMatchObject({
      path: "/v1beta1/publishers/google/models?pageSize=300",
      headers: { "x-goog-user-project": "p", "x-goog-api-key": env.KEY },
    });
  });

  test("--write adds a server's own models as free, with its window, and keeps comments, order and mode", async () => {
    lists({ data: [{ id: "llama-5", max_model_len: 32_768 }, { id: "qwen-4" }] });
    const config = `${header}[providers.local] # vLLM\nkind = "openai-compatible"\nbase_url = "${vendor.url}/v1"`;
    const at = place(config);
    chmodSync(at.file, 0o640);
    const { code, stderr, stdout } = await sluice(at, "models", "discover", "--write");
    expect([code, stderr]).toEqual([0, expect.stringContaining("2 models added to")]);
    expect(stdout).toMatch(/llama-5 +priced +free +free/);
    const written = readFileSync(at.file, "utf8");
    expect(written).toStartWith(
      `${config}\n\n[[models]]\nid = "llama-5"\nprovider = "local"\ncontext_window = 32768\nfree = true\ntimeouts = { request = "1h" }\n`,
    );
    expect(statSync(at.file).mode & 0o777).toBe(0o640);
    expect((await sluice(at, "config", "check")).code).toBe(0);
    const again = await sluice(at, "models", "discover", "--write");
    expect(again.stderr).toContain("no models with a known price to add");
    expect(readFileSync(at.file, "utf8")).toBe(written);
  });

  test("--write takes prices that the provider tells, and those of the catalog", async () => {
    const pricing = { prompt: "0.00000015", completion: "0.0000006" };
    lists({
      data: [{ id: "maker/model", context_length: 1000, pricing }, { id: "gpt-6-luna" }, { id: "x" }],
    });
    const at = place(`${openAi}`);
    await sluice(at, "models", "discover", "--write");
    const written = readFileSync(at.file, "utf8");
    expect(written).toContain(
      'id = "maker/model"\nprovider = "openai"\ncontext_window = 1000\nprice = { input = 0.15, output = 0.6 }\nprice_checked = "20',
    );
    expect(written).toContain('id = "gpt-6-luna"\nprice_checked = "2026-11-19"\nprovider = "openai"');
    expect(written).not.toContain('id = "x"');
  });

  test("asks LM Studio for the windows, which OpenAI's list lacks", async () => {
    const data = [
      {
        id: "gemma-3",
        type: "vlm",
        state: "loaded",
        max_context_length: 131_072,
        loaded_context_length: 8192,
      },
      { id: "qwen-3", type: "llm", state: "not-loaded", max_context_length: 40_960 },
      { id: "nomic", type: "embeddings", state: "not-loaded", max_context_length: 2048 },
    ];
    vendor.script(({ path }) => {
      if (path === "/v1/models") return json({ data: data.map(({ id }) => ({ id, object: "model" })) });
      return path === "/api/v0/models"
        ? json({ object: "list", data })
        : json({ error: "x" }, { status: 404 });
    });
    const local = `[providers.studio]\nkind = "openai-compatible"\nbase_url = "${vendor.url}/v1"\n`;
    const { at, code } = await discovered(local, "--write");
    expect(code).toBe(0);
    const written = readFileSync(at.file, "utf8");
    for (const window of [8192, 40_960, 2048]) expect(written).toContain(`context_window = ${window}`);
    expect(written.match(/serves = \["embeddings"\]/g)).toHaveLength(1);
    // Every model has its window, so none is described by itself.
    expect(vendor.requests.map(({ path }) => path)).toEqual(["/v1/models", "/api/v0/models"]);
  });

  test("an unknown provider's name lists those that exist", async () => {
    const { code, stderr } = await sluice(place(openAi), "models", "discover", "nobody");
    expect([code, stderr]).toEqual([
      1,
      'error: provider "nobody" does not exist; the configuration has "openai"\n',
    ]);
  });

  test("one provider that fails is exit 1: the others are shown, and nothing is written", async () => {
    openAiList("gpt-6-luna");
    const dead = `[providers.dead]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\n`;
    const { rows, code, stderr, at } = await discovered(`${openAi}${dead}`, "--write");
    expect([code, rows.length]).toEqual([1, 1]);
    expect(stderr).toContain('provider "dead": cannot be reached');
    expect(readFileSync(at.file, "utf8")).toBe(`${openAi}${dead}`);
  });

  test.each([
    ["a rejected key", json({ error: {} }, { status: 401 }), "401; it rejects the key; check api_key"],
    ["no list", json({ hello: 1 }), "returned no list of models; check base_url"],
    ["silence", silence(), "no response within 3 s"],
  ])("%s is told with what to do, without the key", async (_, answer, told) => {
    vendor.script(answer);
    const { code, stderr } = await discovered(openAi);
    expect(code).toBe(1);
    expect(stderr).toContain(told);
    expect(stderr).not.toContain(env.KEY);
  });

  test("a file that would not load with the new models stays as it is", async () => {
    openAiList("gpt-6-luna");
    const inline = `models = [{ id = "m", provider = "openai", free = true }]\n${openAi}`;
    const at = place(inline);
    const { code, stderr } = await sluice(at, "models", "discover", "--write");
    expect([code, stderr]).toEqual([1, expect.stringContaining("was not changed")]);
    expect(readFileSync(at.file, "utf8")).toBe(inline);
  });
});
