import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AnthropicFoundry } from "@anthropic-ai/foundry-sdk";
import OpenAI, { AzureOpenAI } from "openai";
import { json, text } from "../../support/answers.ts";
import { fixtureText } from "../../support/fixtures.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { readStream } from "../../support/sse.ts";
import { waitFor } from "../../support/wait.ts";
import { azureAccount, promptFilterChunk, startFakeAzure } from "../azure/fake-azure.ts";

const fake = startFakeAzure();
let sluice: Sluice;
let key: TestKey;

const entra = `tenant_id = "${azureAccount.tenant}"
client_id = "${azureAccount.client}"
client_secret = "env:AZURE_SECRET"
authority = "${fake.url}"`;

const model = (id: string, provider: string, upstream: string) => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }
`;

const config = `
[log]
level = "debug"

[providers.v1]
kind = "azure"
base_url = "${fake.url}/openai/v1"
api_key = "env:AZURE_KEY"

[providers.dated]
kind = "azure"
base_url = "${fake.url}/openai"
api_version = "2024-10-21"
api_key = "env:AZURE_KEY"

[providers.entra]
kind = "azure"
base_url = "${fake.url}/openai/v1"
${entra}

[providers.foundry]
kind = "azure"
base_url = "${fake.url}/anthropic"
api_key = "env:AZURE_KEY"

[providers.foundry-by-key]
kind = "anthropic"
base_url = "${fake.url}/anthropic"
api_key = "env:AZURE_KEY"

# As Bedrock's Mantle takes its key.
[providers.bearer]
kind = "anthropic"
base_url = "${fake.url}/anthropic"
api_key = "env:AZURE_KEY"
auth = "bearer"
headers = { anthropic-workspace-id = "wrkspc_canary" }
${model("v1", "v1", "gpt-canary-deployment")}
${model("dated", "dated", "o-canary-deployment")}
${model("entra", "entra", "gpt-canary-deployment")}
${model("free", "v1", "gpt-canary-deployment").replace(/price = .*/, "free = true")}
${model("missing", "v1", "no-such-deployment")}
${model("claude", "foundry", "claude-sonnet-4-6")}
${model("claude-key", "foundry-by-key", "claude-sonnet-4-6")}
${model("claude-bearer", "bearer", "claude-sonnet-4-6")}
`;

beforeAll(async () => {
  sluice = await startSluice({
    config,
    env: { AZURE_KEY: azureAccount.key, AZURE_SECRET: azureAccount.secret },
  });
  key = await sluice.createKey({ credit: 10 });
  await waitFor(async () => (await sluice.request("/v1/usage", { key })).status === 200, "the key");
});

afterAll(async () => {
  fake.stop();
  await sluice.dispose();
});

const messages = [{ role: "user", content: "Hello" }] as const;

async function chat(model: string, more: object = {}): Promise<Response> {
  return sluice.request("/v1/chat/completions", { key, body: { model, messages, ...more } });
}

test("a client cannot have Azure search the operator's data, neither on a model that is free", async () => {
  const authentication = { type: "system_assigned_managed_identity" };
  const parameters = { endpoint: "https://hr.search.windows.net", index_name: "salaries", authentication };
  const source = { type: "azure_search", parameters };
  for (const model of ["v1", "dated", "entra", "free"]) {
    for (const field of ["data_sources", "dataSources"]) {
      const response = await chat(model, { [field]: [source] });
      expect([response.status, await response.text()], model).toEqual([400, expect.stringContaining(field)]);
    }
    expect((await chat(model, { data_sources: [] })).status).toBe(200);
  }
});

describe("the fake is what the vendors' SDKs take for Azure", () => {
  test("OpenAI's client for dated versions, whole and streamed (Z15)", async () => {
    const client = new AzureOpenAI({
      endpoint: fake.url,
      apiKey: azureAccount.key,
      apiVersion: "2024-10-21",
      maxRetries: 0,
    });
    const asked = { model: "o-canary-deployment", messages: [...messages] };
    const whole = await client.chat.completions.create(asked);
    expect(whole.choices[0]?.message.content).toBe(fixtureText);
    let said = "";
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
      said += chunk.choices[0]?.delta?.content ?? "";
    }
    expect(said).toBe(fixtureText);
    const failure = await client.chat.completions.create({ ...asked, model: "none" }).catch(String);
    expect(failure).toContain("The API deployment for this resource does not exist.");
  });

  test("OpenAI's plain client for v1, and Anthropic's for Foundry (Z15)", async () => {
    const v1 = new OpenAI({ baseURL: `${fake.url}/openai/v1`, apiKey: azureAccount.key, maxRetries: 0 });
    const response = await v1.responses.create({ model: "gpt-canary-deployment", input: "Hello" });
    expect(response.output_text).toBe(fixtureText);
    const foundry = new AnthropicFoundry({
      baseURL: `${fake.url}/anthropic/`,
      apiKey: azureAccount.key,
      maxRetries: 0,
    });
    const message = await foundry.messages.create({
      model: "claude-sonnet-4-6",
      max_tokens: 100,
      messages: [...messages],
    });
    expect(message.content[0]).toMatchObject({ type: "text", text: fixtureText });
  });
});

describe("Sluice before the same Azure", () => {
  for (const id of ["v1", "dated", "entra", "claude", "claude-key", "claude-bearer"]) {
    test(`T15: ${id} answers clients of all three dialects`, async () => {
      const anthropic = await sluice.request("/v1/messages", {
        key,
        body: { model: id, messages, max_tokens: 100 },
      });
      expect(await anthropic.json()).toMatchObject({ content: [{ type: "text", text: fixtureText }] });
      const whole = await chat(id);
      expect(await whole.json()).toMatchObject({ choices: [{ message: { content: fixtureText } }] });
      const response = await sluice.request("/v1/responses", { key, body: { model: id, input: "Hello" } });
      expect(await response.text()).toContain(fixtureText);
    });
  }

  test("chunks without choices or a delta pass through, and are no end of a translated stream (Z07, Z08)", async () => {
    const passed = await readStream(await chat("v1", { stream: true }));
    expect(passed.text).toStartWith(promptFilterChunk);
    expect(passed.text).toContain("content_filter_offsets");
    expect(passed.text).toEndWith("data: [DONE]\n\n");
    const openai = new OpenAI({ baseURL: `${sluice.url}/v1`, apiKey: key.key, maxRetries: 0 });
    const helper = openai.chat.completions.stream({ model: "v1", messages: [...messages] });
    expect((await helper.finalChatCompletion()).choices[0]?.message.content).toBe(fixtureText);
    const translated = await readStream(
      await sluice.request("/v1/messages", {
        key,
        body: { model: "dated", messages, max_tokens: 100, stream: true },
      }),
    );
    const said = [...translated.text.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)];
    expect(said.map(([, piece = '""']) => JSON.parse(piece)).join("")).toBe(fixtureText);
    expect(translated.text).toContain("event: message_stop");
  });

  test("a filtered prompt is the client's 400, with Azure's message and no charge (Z09)", async () => {
    const before = await sluice.cliJson<{ entries: number }[] | object>("keys", "show", key.id);
    const refused = await chat("v1", { messages: [{ role: "user", content: "canary-violence" }] });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: {
        code: "content_filter",
        param: "prompt",
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      },
    });
    expect(await sluice.cliJson("keys", "show", key.id)).toEqual(before);
  });

  test("a deployment that does not exist is the operator's affair, and Azure's words stay inside (Z10)", async () => {
    const refused = await chat("missing");
    expect(refused.status).toBe(502);
    const body = await refused.text();
    expect(JSON.parse(body)).toMatchObject({ error: { code: "upstream_error" } });
    expect(body).not.toContain("deployment");
    await waitFor(() => sluice.output.includes("provider rejected the gateway"), "the alarm");
  });

  test("usage is OpenAI's, and is charged as such (Z14)", async () => {
    const other = await sluice.createKey({ credit: 1 });
    await waitFor(async () => (await sluice.request("/v1/usage", { key: other })).status === 200, "the key");
    await (
      await sluice.request("/v1/chat/completions", { key: other, body: { model: "v1", messages } })
    ).text();
    const usage = (await (await sluice.request("/v1/usage", { key: other })).json()) as {
      credits: { used: number };
    };
    // 21 tokens of input at 1 and 9 of output at 2 USD per million.
    expect(usage.credits.used).toBe(0.000039);
  });

  test("a token that Azure refuses is replaced once, and the client sees nothing of it (V13)", async () => {
    await (await chat("entra")).text();
    const before = fake.issued;
    fake.revokeTokens();
    const answers = await Promise.all(Array.from({ length: 5 }, () => chat("entra")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(fake.issued).toBe(before + 1);
  });

  test("a reload with the same credentials keeps the token (K06)", async () => {
    const before = fake.issued;
    process.kill(sluice.pid, "SIGHUP");
    await waitFor(() => sluice.output.includes("configuration reloaded"), "the reload");
    expect((await chat("entra")).status).toBe(200);
    expect(fake.issued).toBe(before);
  });

  test("a token host that fails is 502 provider_unavailable, for this account alone (K05)", async () => {
    fake.revokeTokens();
    fake.tokenTrouble = text("canary-token-trouble", "text/html", { status: 500 });
    const refused = await chat("entra");
    expect(refused.status).toBe(502);
    expect(await refused.json()).toMatchObject({ error: { code: "provider_unavailable" } });
    expect((await chat("v1")).status).toBe(200);
    await waitFor(
      () => sluice.output.includes("no credential for this provider: Entra returned 500"),
      "the alarm",
    );
    fake.tokenTrouble = null;
    await waitFor(async () => (await chat("entra")).status === 200, "the account to recover");
  });

  test("models check says what to do", async () => {
    fake.tokenTrouble = json({ error: "x", error_codes: [7000222] }, { status: 401 });
    const { stdout } = await sluice.run("models", "check", "--json");
    fake.tokenTrouble = null;
    const checks = JSON.parse(stdout) as { provider: string; problem: string | null }[];
    const problems = Object.fromEntries(checks.map(({ provider, problem }) => [provider, problem]));
    expect(problems).toEqual({
      v1: null,
      dated: null,
      entra: "no credential: Entra reports that client_secret has expired; create a new one",
      foundry: null,
      "foundry-by-key": null,
      bearer: null,
    });
  });

  test("keys, tokens and names of the account are written nowhere (T18)", async () => {
    const everything = [
      sluice.output,
      await (await sluice.request("/metrics")).text(),
      JSON.stringify(await sluice.cliJson("requests", "list")),
      (await sluice.run("models", "check")).stdout,
    ].join("\n");
    for (const secret of Object.values(azureAccount)) expect(everything).not.toContain(secret);
    for (const canary of ["canary-entra-token", "canary-token-trouble", "canary-resource", "wrkspc_canary"]) {
      expect(everything).not.toContain(canary);
    }
  });
});
