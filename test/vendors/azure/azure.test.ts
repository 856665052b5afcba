import { afterAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { wrapReasoning } from "../../../src/dialects/reasoning/reasoning-envelope.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import { targetOf } from "../../../src/gateway/attempt/generation.ts";
import { azureCredentials } from "../../../src/vendors/azure/credentials.ts";
import { azure } from "../../../src/vendors/azure/index.ts";
import { CredentialUnavailable } from "../../../src/vendors/credentials/credential.ts";
import { TokenSources } from "../../../src/vendors/credentials/token-sources.ts";
import { HttpProvider } from "../../../src/vendors/http/http-provider.ts";
import type { ProviderOptions } from "../../../src/vendors/options.ts";
import { createProvider } from "../../../src/vendors/registry.ts";
import { load } from "../../config/fixtures.ts";
import { json, text } from "../../support/answers.ts";
import { prepared, providerSettings } from "../../upstream/fixtures.ts";
import { azureAccount, startFakeAzure } from "./fake-azure.ts";

const fake = startFakeAzure();
afterAll(() => fake.stop());

/** The provider that an operator's lines make. */
function configured(lines: string, model = "") {
  const toml = `[providers.azure]\nkind = "azure"\napi_key = "env:KEY"\n${lines}
    [[models]]\nid = "m"\nprovider = "azure"\nfree = true\n${model}`;
  const { settings } = load(toml, { env: { KEY: "azure-key" } });
  const providerSettings = settings.providers.get("azure");
  if (providerSettings === undefined) throw new Error(settings.warnings.join());
  const provider = createProvider(providerSettings);
  if (!(provider instanceof HttpProvider)) throw new Error("Azure is called over HTTP");
  return { settings: providerSettings, provider, deployment: settings.models[0]?.deployments[0] };
}

const root = "https://r.openai.azure.com";

describe("addresses", () => {
  const rows: [string, string, "chat" | "responses" | "messages" | "count", string][] = [
    ["Z01: v1", 'resource = "r"', "chat", `${root}/openai/v1/chat/completions`],
    ["Z01: v1", 'resource = "r"', "responses", `${root}/openai/v1/responses`],
    [
      "Z01: v1 with preview features",
      'resource = "r"\napi_version = "preview"',
      "chat",
      `${root}/openai/v1/chat/completions?api-version=preview`,
    ],
    [
      "Z01: the other names of a resource",
      'base_url = "https://r.cognitiveservices.azure.com/openai/v1/"',
      "chat",
      "https://r.cognitiveservices.azure.com/openai/v1/chat/completions",
    ],
    [
      "Z02: dated",
      'resource = "r"\napi_version = "2024-10-21"',
      "chat",
      `${root}/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21`,
    ],
    [
      "Z02: dated",
      'base_url = "https://r.openai.azure.com/openai"\napi_version = "2025-03-01-preview"',
      "responses",
      `${root}/openai/responses?api-version=2025-03-01-preview`,
    ],
    [
      "Z03: Foundry's models endpoint",
      'base_url = "https://r.services.ai.azure.com/models"\napi_version = "2024-05-01-preview"',
      "chat",
      "https://r.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
    ],
    [
      "Z13: Claude on Foundry",
      'resource = "r"\ndialects = ["messages"]',
      "messages",
      "https://r.services.ai.azure.com/anthropic/v1/messages",
    ],
    [
      "Z13: Claude on Foundry",
      'base_url = "https://r.services.ai.azure.com/anthropic/"',
      "messages",
      "https://r.services.ai.azure.com/anthropic/v1/messages",
    ],
    [
      "Z13: Claude's count of tokens",
      'base_url = "https://r.services.ai.azure.com/anthropic"',
      "count",
      "https://r.services.ai.azure.com/anthropic/v1/messages/count_tokens",
    ],
    [
      "Z13: Claude beside OpenAI's models",
      'resource = "r"\ndialects = ["chat", "messages"]',
      "chat",
      "https://r.services.ai.azure.com/openai/v1/chat/completions",
    ],
  ];
  for (const [title, lines, what, url] of rows) {
    test(`${title}, ${what}: ${url}`, () => {
      const asked =
        what === "count"
          ? prepared({ dialect: "messages", purpose: "countTokens" })
          : prepared({ dialect: what, model: "my gpt" });
      expect(configured(lines).provider.url(asked)).toBe(url);
    });
  }

  test("a version without Responses leaves them to translation (Z02)", () => {
    expect(configured('resource = "r"\napi_version = "2024-10-21"').settings.dialects).toEqual(["chat"]);
    expect(configured('resource = "r"\napi_version = "2025-04-01-preview"').settings.dialects).toEqual([
      "chat",
      "responses",
    ]);
    expect(configured('base_url = "https://r.services.ai.azure.com/anthropic"').settings).toMatchObject({
      dialects: ["messages"],
      countTokens: true,
    });
  });

  test("an old version is asked for no usage, and gets the old name of the limit (Z11)", () => {
    const old = configured('resource = "r"\napi_version = "2024-06-01"').settings;
    expect(old).toMatchObject({ streamUsage: false, maxTokensField: "max_tokens" });
    for (const version of ["", 'api_version = "2024-09-01-preview"', 'api_version = "2024-10-21"']) {
      const { settings } = configured(`resource = "r"\n${version}`);
      expect(settings).toMatchObject({ streamUsage: true, maxTokensField: "max_completion_tokens" });
    }
    const told = configured('resource = "r"\napi_version = "2024-06-01"\nstream_usage = true').settings;
    expect(told.streamUsage).toBe(true);
  });

  test("the limit's name follows the model's maker, and the operator's word comes first (Z12)", () => {
    const field = (model: string) => configured('resource = "r"', model).deployment?.maxTokensField;
    expect(field('upstream_model = "DeepSeek-V3.2"')).toBe("max_tokens");
    expect(field('upstream_model = "my-grok"\nfamily = "grok-4"')).toBe("max_tokens");
    expect(field('upstream_model = "gpt-5.6"')).toBe("max_completion_tokens");
    expect(field('upstream_model = "whatever"')).toBe("max_completion_tokens");
    expect(field('upstream_model = "whatever"\nmax_tokens_field = "max_tokens"')).toBe("max_tokens");
    const told = configured(
      'resource = "r"\nmax_tokens_field = "max_completion_tokens"',
      'upstream_model = "grok-4"',
    );
    expect(told.deployment?.maxTokensField).toBe("max_completion_tokens");
  });
});

describe("another maker's model on Azure is spoken to as that maker's, whatever the deployment is called (Z12)", () => {
  const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
  const said = [
    { role: "user", content: "look" },
    { role: "assistant", content: null, reasoning_content: "Hm.", tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "fog" },
  ];
  const body = {
    input: [
      { role: "user", content: "look" },
      { type: "reasoning", summary: [], encrypted_content: wrapReasoning({ maker: "chat" }, ["Hm."]) },
      { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "fog" },
    ],
    prompt_cache_key: "k",
    tools: [{ type: "function", name: "look", parameters: { type: "object", properties: {} } }],
  };

  /** A translated request to such a deployment. */
  function written(model: string, lines = "", asked: JsonObject = body): JsonObject {
    const { deployment, settings } = configured(`resource = "r"\n${lines}`, model);
    if (deployment === undefined) throw new Error("no deployment");
    // Only what a target is made of.
    const target = targetOf(
      { ...deployment, provider: { settings }, model: { capabilities: {}, maxOutputTokens: null } } as never,
      "chat",
    );
    const dialect = clientDialect("responses");
    return translate({ dialect, body: asked, model: "m", nowSeconds: 0, estimatedInputTokens: 1 }, target)
      .body;
  }

  test.each(['upstream_model = "DeepSeek-V4-Pro"', 'upstream_model = "ours"\nfamily = "deepseek-v3.2"'])(
    "DeepSeek gets its reasoning back, and no field of OpenAI's own: %s",
    (model) => {
      expect(configured('resource = "r"', model).deployment?.dialects).toEqual(["chat"]);
      const { messages, prompt_cache_key: key } = written(model);
      expect(messages).toEqual(said);
      expect(key).toBeUndefined();
    },
  );

  test("where the reasoning is lost, DeepSeek gets an empty one; an operator's quirks come first", () => {
    const lost = { ...body, input: body.input.filter(({ type }) => type !== "reasoning") };
    const model = 'upstream_model = "deepseek-v3.2"';
    expect(JSON.stringify(written(model, "", lost))).toContain('"reasoning_content":""');
    expect(JSON.stringify(written(model, 'quirks = ["no_name"]', lost))).not.toContain("reasoning_content");
  });

  test("OpenAI's own keep what only they take", () => {
    expect(written('upstream_model = "gpt-5.6"')).toMatchObject({ prompt_cache_key: "k" });
    expect(JSON.stringify(written('upstream_model = "gpt-5.6"'))).not.toContain("reasoning_content");
    expect(traitsOf("gpt-5.6")).toEqual({});
    expect(traitsOf("grok-4")).toEqual({ isStrict: false });
  });
});

function traitsOf(model: string) {
  return azure.modelTraits?.(model);
}

test("betas that Claude on Foundry does not know stay behind (Z13)", () => {
  const { provider } = configured('base_url = "https://r.services.ai.azure.com/anthropic"');
  const betas = (asked: string) =>
    provider.headers(prepared({ dialect: "messages", headers: { "anthropic-beta": asked } }), null)[
      "anthropic-beta"
    ];
  expect(betas("context-1m-2025-08-07, fine-grained-tool-streaming-2025-05-14,compact-2026-01-12")).toBe(
    "context-1m-2025-08-07",
  );
  expect(betas("fast-mode-2026-02-01")).toBeUndefined();
  const headers = { "anthropic-beta": "context-1m-2025-08-07,fast-mode-2026-02-01,compact-2026-01-12" };
  expect(azure.droppedHeaders?.("messages", headers, {})).toEqual([
    "anthropic-beta: fast-mode-2026-02-01",
    "anthropic-beta: compact-2026-01-12",
  ]);
  expect(azure.droppedHeaders?.("chat", headers, {})).toEqual([]);
});

test("models check says that a deployment does not exist (Z10)", () => {
  const { provider } = configured('resource = "r"');
  const text = JSON.stringify({
    error: { code: "DeploymentNotFound", message: "The API deployment does not exist." },
  });
  const advice = provider.advise(
    { head: { status: 404, get: () => null }, text, receivedAtMs: 0 },
    "our-gpt",
  );
  expect(advice).toStartWith(
    'this deployment name does not exist in the resource: "our-gpt"; check upstream_model',
  );
});

test("where a resource speaks to both, Claude and the others have doors of their own (Z13)", () => {
  const both = 'resource = "r"\ndialects = ["chat", "messages"]';
  const dialects = (model: string) => configured(both, `upstream_model = "${model}"`).deployment?.dialects;
  expect(dialects("claude-opus-5")).toEqual(["messages"]);
  expect(dialects("gpt-5.6")).toEqual(["chat"]);
  const claude = 'base_url = "https://r.services.ai.azure.com/anthropic"';
  expect(configured(claude, 'upstream_model = "our-own"').deployment?.dialects).toEqual(["messages"]);
});

describe("credentials", () => {
  const headersOf = (lines: string) => {
    const { provider } = configured(lines);
    return provider.headers(prepared(), provider.credentials[0]?.use() ?? null);
  };

  test("the key goes as api-key, or as auth says; Claude's as x-api-key (Z04)", () => {
    expect(headersOf('resource = "r"')).toMatchObject({ "api-key": "azure-key" });
    expect(headersOf('resource = "r"')).not.toHaveProperty("authorization");
    expect(headersOf('resource = "r"\nauth = "bearer"')).toMatchObject({ authorization: "Bearer azure-key" });
    expect(headersOf('resource = "r"\ndialects = ["messages"]')).toMatchObject({ "x-api-key": "azure-key" });
    const both = headersOf('resource = "r"\ndialects = ["chat", "messages"]');
    expect(both).toMatchObject({ "api-key": "azure-key", "x-api-key": "azure-key" });
  });

  async function tokenFrom(options: ProviderOptions, env: Record<string, string> = {}): Promise<string> {
    const tokens = new TokenSources();
    const settings = providerSettings({ kind: "azure", options });
    const use = azureCredentials(settings, tokens, env)?.[0]?.use();
    if (use === undefined) throw new Error("there is no credential");
    await use.prepare();
    tokens.stop();
    return use.headers()["authorization"] ?? "";
  }

  const application = { tenant_id: azureAccount.tenant, client_id: azureAccount.client, authority: fake.url };

  test("Entra issues a token for an application's secret (Z05)", async () => {
    const token = await tokenFrom({ ...application, client_secret: azureAccount.secret });
    expect(token).toBe(`Bearer canary-entra-token-${fake.issued}`);
  });

  test("the other clouds have resources of their own (Z05)", async () => {
    const { resourceOf } = await import("../../../src/vendors/azure/entra.ts");
    expect(resourceOf("https://login.microsoftonline.us")).toBe("https://cognitiveservices.azure.us");
    expect(resourceOf("https://login.chinacloudapi.cn")).toBe("https://cognitiveservices.azure.cn");
  });

  test("a managed identity's token comes from the app's own endpoint (Z06)", async () => {
    const env = { IDENTITY_ENDPOINT: `${fake.url}/msi/token`, IDENTITY_HEADER: azureAccount.identityHeader };
    expect(await tokenFrom({ credentials: "managed_identity" }, env)).toStartWith(
      "Bearer canary-entra-token-",
    );
  });

  test("a workload's token file stands in for the secret (Z06)", async () => {
    const asked = fake.provider.nextRequest();
    const env = {
      AZURE_AUTHORITY_HOST: fake.url,
      AZURE_TENANT_ID: azureAccount.tenant,
      AZURE_CLIENT_ID: azureAccount.client,
      AZURE_FEDERATED_TOKEN_FILE: new URL("fake-azure.ts", import.meta.url).pathname,
    };
    await tokenFrom({ credentials: "workload_identity" }, env).catch(() => {});
    const form = new URLSearchParams((await asked).text);
    expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    expect(form.get("client_assertion")).toStartWith("import { type Answer");
  });

  test("what Entra says is told in the gateway's own words (K05)", async () => {
    const wrong = tokenFrom({ ...application, client_secret: "canary-wrong-secret" });
    await expect(wrong).rejects.toThrow("Entra rejects client_secret; use the secret's value, not its id");
    fake.tokenTrouble = json({ error: "canary-trouble" }, { status: 503 });
    const down = tokenFrom({ ...application, client_secret: azureAccount.secret });
    await expect(down).rejects.toThrow(new CredentialUnavailable("Entra returned 503"));
    fake.tokenTrouble = text("canary-trouble", "text/html", { status: 400 });
    const refused = tokenFrom({ ...application, client_secret: azureAccount.secret });
    await expect(refused).rejects.toThrow(
      "Entra did not issue a token (400); check tenant_id, client_id and client_secret",
    );
    fake.tokenTrouble = null;
  });
});
