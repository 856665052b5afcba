import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { vendorsInEnvironment } from "../../src/config/environment/vendors.ts";
import { loadSettings } from "../../src/config/load.ts";
import { findConfig } from "../../src/config/source.ts";
import { newFolder } from "../support/new-folder.ts";

const own = { host: "127.0.0.1", port: 8787 };
const servedIn = (env: Record<string, string>) =>
  vendorsInEnvironment(env, own).served.map(({ provider, variable }) => `${provider} by ${variable}`);
const skippedIn = (env: Record<string, string>) =>
  vendorsInEnvironment(env, own).skipped.map(({ variable, reason }) => `${variable}: ${reason}`);
const emptyFolder = () => newFolder();
const systemFile = "/nonexistent/sluice.toml";

describe("vendors in the environment", () => {
  test("are found by the names that their own SDKs read", () => {
    const names = [
      ...[
        "OPENAI",
        "ANTHROPIC",
        "GEMINI",
        "DEEPSEEK",
        "MISTRAL",
        "XAI",
        "COHERE",
        "VOYAGE",
        "GROQ",
        "TOGETHER",
      ],
      ...[
        "FIREWORKS",
        "CEREBRAS",
        "MOONSHOT",
        "ZAI",
        "PERPLEXITY",
        "DASHSCOPE",
        "DEEPINFRA",
        "NEBIUS",
        "MINIMAX",
      ],
    ];
    const env = Object.fromEntries(names.map((name) => [`${name}_API_KEY`, "a-key"]));
    const vendorOf = (name: string) => (name === "DASHSCOPE" ? "alibaba" : name.toLowerCase());
    expect(servedIn(env)).toEqual(names.map((name) => `${vendorOf(name)} by ${name}_API_KEY`));
  });

  test("that have other names for a key are found by each of them", () => {
    const names = {
      vercel: ["AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"],
      nvidia: ["NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"],
      sambanova: ["SAMBANOVA_API_KEY"],
      baseten: ["BASETEN_API_KEY"],
      novita: ["NOVITA_API_KEY"],
      "ollama-cloud": ["OLLAMA_API_KEY"],
      huggingface: ["HF_TOKEN"],
      scaleway: ["SCW_SECRET_KEY", "SCALEWAY_API_KEY"],
      ovhcloud: ["OVH_AI_ENDPOINTS_ACCESS_TOKEN", "OVHCLOUD_API_KEY"],
      nscale: ["NSCALE_SERVICE_TOKEN", "NSCALE_API_KEY"],
      volcengine: ["ARK_API_KEY", "VOLCENGINE_API_KEY"],
      github: ["GITHUB_MODELS_TOKEN"],
    };
    for (const [provider, keys] of Object.entries(names))
      for (const key of keys) expect(servedIn({ [key]: "a-key" })).toEqual([`${provider} by ${key}`]);
    expect(servedIn({ GITHUB_TOKEN: "a-key" })).toEqual([]);
  });

  test.each([
    [
      { DATABRICKS_TOKEN: "a", DATABRICKS_HOST: "https://adb-1234.5.azuredatabricks.net/" },
      "https://adb-1234.5.azuredatabricks.net/serving-endpoints",
    ],
    [
      { DATABRICKS_TOKEN: "a", DATABRICKS_HOST: "dbc-a1b2.cloud.databricks.com" },
      "https://dbc-a1b2.cloud.databricks.com/serving-endpoints",
    ],
    [
      { CLOUDFLARE_API_TOKEN: "a", CLOUDFLARE_ACCOUNT_ID: "0123abcd" },
      "https://api.cloudflare.com/client/v4/accounts/0123abcd/ai/v1",
    ],
    [
      { SNOWFLAKE_PAT: "a", SNOWFLAKE_ACCOUNT: "myorg-my_account1" },
      "https://myorg-my-account1.snowflakecomputing.com/api/v2/cortex/v1",
    ],
    [
      { SNOWFLAKE_PAT: "a", SNOWFLAKE_ACCOUNT: "ignored", SNOWFLAKE_BASE_URL: "https://example.com/v1" },
      "https://example.com/v1",
    ],
  ] as const)("%j leads to the address of the account", (env, baseUrl) => {
    const { served, skipped } = vendorsInEnvironment(env, own);
    expect(served.map((vendor) => vendor.baseUrl)).toEqual([baseUrl]);
    expect(skipped).toEqual([]);
    const { settings } = loadSettings({ env, cwd: emptyFolder(), systemFile });
    expect(settings.warnings).toEqual([]);
    expect([...settings.providers.values()].map((provider) => provider.baseUrl)).toContain(baseUrl);
  });

  test("Gemini has two names, of which the first usable one counts", () => {
    expect(servedIn({ GOOGLE_API_KEY: "b" })).toEqual(["gemini by GOOGLE_API_KEY"]);
    expect(servedIn({ GEMINI_API_KEY: "a", GOOGLE_API_KEY: "b" })).toEqual(["gemini by GEMINI_API_KEY"]);
    expect(servedIn({ GEMINI_API_KEY: " ", GOOGLE_API_KEY: "b" })).toEqual(["gemini by GOOGLE_API_KEY"]);
  });

  test.each([
    [{ OPENAI_API_KEY: "" }, "OPENAI_API_KEY: it is empty"],
    [{ OPENAI_API_KEY: "slu_abc" }, "OPENAI_API_KEY: it is a Sluice key, not the vendor's"],
    [{ OPENAI_API_KEY: "a\nb" }, "OPENAI_API_KEY: it holds more than one line or a control character"],
    [
      { AZURE_OPENAI_API_KEY: "a" },
      "AZURE_OPENAI_API_KEY: Azure OpenAI needs a configuration file; `sluice config init` writes one",
    ],
    [
      { OPENAI_API_KEY: "a", OPENAI_BASE_URL: "http://localhost:8787/v1" },
      "OPENAI_API_KEY: OPENAI_BASE_URL is the address of this gateway",
    ],
    [
      { ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: "http://[::1]:8787" },
      "ANTHROPIC_API_KEY: ANTHROPIC_BASE_URL is the address of this gateway",
    ],
    [
      { OPENAI_API_KEY: "a", OPENAI_BASE_URL: "https://me:secret@example.com/v1" },
      'OPENAI_API_KEY: OPENAI_BASE_URL must not have a user name, a password, "?" or "#"',
    ],
    [
      { OPENAI_API_KEY: "a", OPENAI_BASE_URL: "example.com" },
      "OPENAI_API_KEY: OPENAI_BASE_URL is not an address that begins with http:// or https://",
    ],
    [
      { DATABRICKS_TOKEN: "a" },
      "DATABRICKS_TOKEN: DATABRICKS_HOST is missing: set it to the host of a workspace",
    ],
    [
      { CLOUDFLARE_API_TOKEN: "a", CLOUDFLARE_ACCOUNT_ID: " " },
      "CLOUDFLARE_API_TOKEN: CLOUDFLARE_ACCOUNT_ID is missing: set it to the id of an account",
    ],
    [
      { SNOWFLAKE_PAT: "a", SNOWFLAKE_ACCOUNT: "evil.example/x?" },
      "SNOWFLAKE_PAT: SNOWFLAKE_ACCOUNT is not an account identifier such as myorg-account1",
    ],
    [
      { DATABRICKS_TOKEN: "a", DATABRICKS_HOST: "http://dbc.cloud.databricks.com" },
      "DATABRICKS_TOKEN: DATABRICKS_HOST is not the host of a workspace",
    ],
  ])("%j is named and not served", (env, skipped) => {
    expect(vendorsInEnvironment(env, own).served).toEqual([]);
    expect(skippedIn(env)).toEqual([skipped]);
  });

  test("an address without a key means nothing", () => {
    expect(vendorsInEnvironment({ OPENAI_BASE_URL: "https://example.com/v1" }, own)).toEqual({
      served: [],
      skipped: [],
    });
  });

  test("every vendor loads without a warning, at the catalog's prices, with the key from the environment", () => {
    const env = { OPENAI_API_KEY: "sk-1", COHERE_API_KEY: "co-1", COHERE_BASE_URL: "https://example.com/v2" };
    const { settings } = loadSettings({ env, cwd: emptyFolder(), systemFile });
    expect(settings.warnings).toEqual([]);
    expect(settings.providers.get("openai")?.apiKeys).toEqual(["sk-1"]);
    expect(settings.providers.get("cohere")).toMatchObject({
      baseUrl: "https://example.com/v2",
      quirks: ["cohere_embed"],
    });
    expect(settings.models.find(({ id }) => id === "gpt-6-luna")?.priceSource).toBe("catalog");
    expect(JSON.stringify(settings.written)).not.toContain("sk-1");
  });

  test("the port of the command line, or of SLUICE_PORT, decides which address is the gateway's own", () => {
    const env = { OPENAI_API_KEY: "sk-1", OPENAI_BASE_URL: "http://127.0.0.1:9000/v1" };
    const cwd = emptyFolder();
    const servedAt = (options: object) =>
      findConfig({ env, cwd, systemFile, ...options }).environment?.served.length;
    expect(servedAt({})).toBe(1);
    expect(servedAt({ flags: { port: 9000 } })).toBe(0);
    expect(servedAt({ env: { ...env, SLUICE_PORT: "9000" } })).toBe(0);
  });

  test("count neither with a file nor with --demo-only", () => {
    const cwd = emptyFolder();
    const env = { OPENAI_API_KEY: "sk-1" };
    expect(findConfig({ env, cwd, systemFile, demoOnly: true }).text).not.toMatch(/^\[providers\.openai\]/m);
    expect(findConfig({ env, cwd, systemFile }).text).toMatch(/^\[providers\.openai\]/m);
    writeFileSync(join(cwd, "sluice.toml"), "");
    expect(findConfig({ env, cwd, systemFile })).toMatchObject({ text: "", environment: null });
  });
});
