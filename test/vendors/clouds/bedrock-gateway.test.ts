import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import AnthropicBedrock from "@anthropic-ai/bedrock-sdk";
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  CountTokensCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { json } from "../../support/answers.ts";
import { fixtureText } from "../../support/fixtures.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { readStream } from "../../support/sse.ts";
import { waitFor } from "../../support/wait.ts";
import { encodeEvent, encodeException } from "../bedrock/encode-message.ts";
import {
  awsAccount,
  awsError,
  claudeModel,
  converseFrames,
  eventStream,
  novaModel,
  startFakeBedrock,
  unknownSignature,
} from "../bedrock/fake-bedrock.ts";

const fake = startFakeBedrock();
let sluice: Sluice;
let key: TestKey;

const provider = (name: string, credential: string) => `
[providers.${name}]
kind = "bedrock"
region = "${awsAccount.region}"
base_url = "${fake.url}"
${credential}
`;

const model = (id: string, of: string, upstream: string, more = "") => `
[[models]]
id = "${id}"
provider = "${of}"
upstream_model = "${upstream}"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }
${more}
`;

const signed = `access_key_id = "env:AWS_ID"\nsecret_access_key = "env:AWS_SECRET"`;

const config = `
[log]
level = "debug"
${provider("by-key", `api_key = "env:BEDROCK_KEY"`)}
${provider("signed", signed)}
${provider("temporary", `${signed}\nsession_token = "env:AWS_TOKEN"`)}
${provider("wrong", signed)}
${provider("chain", `credentials = "chain"`)}
${model("claude", "by-key", claudeModel)}
${model("claude-signed", "signed", claudeModel)}
${model("claude-converse", "signed", claudeModel, 'dialect = "converse"')}
${model("claude-uncached", "by-key", claudeModel, 'cache = "none"')}
${model("nova", "temporary", novaModel, 'family = "amazon.nova-2-lite"')}
${model("nova-chain", "chain", novaModel, 'family = "amazon.nova-2-lite"')}
${model("unknown", "wrong", "no.such-model")}
`;

beforeAll(async () => {
  sluice = await startSluice({
    config,
    env: {
      BEDROCK_KEY: awsAccount.apiKey,
      AWS_ID: awsAccount.accessKeyId,
      AWS_SECRET: awsAccount.secretAccessKey,
      AWS_TOKEN: awsAccount.sessionToken,
      AWS_ACCESS_KEY_ID: awsAccount.accessKeyId,
      AWS_SECRET_ACCESS_KEY: awsAccount.secretAccessKey,
    },
  });
  key = await sluice.createKey({ credit: 10 });
  await waitFor(async () => (await sluice.request("/v1/usage", { key })).status === 200, "the key");
});

afterEach(() => {
  fake.instead = null;
});

afterAll(async () => {
  fake.stop();
  await sluice.dispose();
});

const messages = [{ role: "user", content: "Hello" }] as const;
const models = ["claude", "claude-signed", "claude-converse", "nova", "nova-chain"] as const;

function chat(id: string, more: object = {}): Promise<Response> {
  return sluice.request("/v1/chat/completions", { key, body: { model: id, messages, ...more } });
}

function ask(id: string, more: object = {}): Promise<Response> {
  return sluice.request("/v1/messages", { key, body: { model: id, messages, max_tokens: 100, ...more } });
}

async function newKey(): Promise<TestKey> {
  const made = await sluice.createKey({ credit: 1 });
  await waitFor(async () => (await sluice.request("/v1/usage", { key: made })).status === 200, "the key");
  return made;
}

async function used(by: TestKey): Promise<number> {
  const usage = (await (await sluice.request("/v1/usage", { key: by })).json()) as {
    credits: { used: number };
  };
  return usage.credits.used;
}

describe("the fake is what the vendors' SDKs take for Bedrock", () => {
  const { region } = awsAccount;
  const client = new BedrockRuntimeClient({
    endpoint: fake.url,
    region,
    credentials: { accessKeyId: awsAccount.accessKeyId, secretAccessKey: awsAccount.secretAccessKey },
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  });
  const asked = { modelId: novaModel, messages: [{ role: "user" as const, content: [{ text: "Hello" }] }] };

  test("AWS's client, whole, streamed and counting (B61, T12)", async () => {
    const whole = await client.send(new ConverseCommand(asked));
    expect(whole.output?.message?.content?.[0]?.text).toBe(fixtureText);
    let said = "";
    const { stream = [] } = await client.send(new ConverseStreamCommand(asked));
    for await (const event of stream) said += event.contentBlockDelta?.delta?.text ?? "";
    expect(said).toBe(fixtureText);
    const counted = await client.send(
      new CountTokensCommand({ modelId: novaModel, input: { converse: { messages: asked.messages } } }),
    );
    expect(counted.inputTokens).toBe(25);
  });

  test("Anthropic's client, whole and streamed (B19)", async () => {
    const claude = new AnthropicBedrock({
      baseURL: fake.url,
      awsRegion: region,
      awsAccessKey: awsAccount.accessKeyId,
      awsSecretKey: awsAccount.secretAccessKey,
      maxRetries: 0,
    });
    const asking = { model: claudeModel, max_tokens: 100, messages: [...messages] };
    const message = await claude.messages.create(asking);
    expect(message.content[0]).toMatchObject({ type: "text", text: fixtureText });
    let said = "";
    for await (const event of await claude.messages.create({ ...asking, stream: true })) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") said += event.delta.text;
    }
    expect(said).toBe(fixtureText);
  });
});

describe("Sluice before the same Bedrock", () => {
  // B04: an application profile hides the model, so `family` metrics what it is. B05: an API key is a bearer token.
  for (const id of models) {
    test(`T10: ${id} answers clients of all three dialects, whole and streamed`, async () => {
      expect(await (await ask(id)).json()).toMatchObject({ content: [{ type: "text", text: fixtureText }] });
      expect(await (await chat(id)).json()).toMatchObject({
        choices: [{ message: { content: fixtureText } }],
      });
      const responses = (body: object) => sluice.request("/v1/responses", { key, body });
      expect(await (await responses({ model: id, input: "Hello" })).text()).toContain(fixtureText);
      const streamed = await readStream(await ask(id, { stream: true }));
      const said = [...streamed.text.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)];
      expect(said.map(([, piece = '""']) => JSON.parse(piece)).join("")).toBe(fixtureText);
      expect(streamed.text).toContain("event: message_stop");
      expect((await readStream(await chat(id, { stream: true }))).text).toEndWith("data: [DONE]\n\n");
      const events = await readStream(await responses({ model: id, input: "Hello", stream: true }));
      expect(events.text).toContain("event: response.completed");
    });
  }

  test("what Bedrock reports is charged, whole and streamed, in both dialects (B04, B05, B24, B46)", async () => {
    // 25 tokens of input at 1 and 12 of output at 2 USD per million; 21 and 9.
    for (const [id, cost] of [
      ["claude", 0.000049],
      ["nova", 0.000039],
    ] as const) {
      for (const stream of [false, true]) {
        const payer = await newKey();
        const body = { model: id, messages, stream };
        await (await sluice.request("/v1/chat/completions", { key: payer, body })).text();
        expect(await used(payer)).toBe(cost);
      }
    }
  });

  test("of Claude Code's body only what InvokeModel knows goes up (B19, B20, B21, B22, B23, T14)", async () => {
    const marked = {
      type: "text",
      text: "Be brief.",
      cache_control: { type: "ephemeral", scope: "global", ttl: "1h" },
    };
    const response = await sluice.request("/v1/messages", {
      key,
      headers: {
        "anthropic-beta": "claude-code-20250219,advanced-tool-use-2025-11-20,context-1m-2025-08-07",
      },
      body: {
        model: "claude",
        max_tokens: 100,
        system: [marked],
        messages: [...messages, { role: "system", content: "Now in French." }],
        service_tier: "auto",
        context_management: {
          edits: [{ type: "clear_thinking_20251015" }, { type: "clear_tool_uses_20250919" }],
        },
      },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-dropped")).toBe(
      "service_tier, context_management.edits, anthropic-beta: claude-code-20250219",
    );
    const sent = fake.provider.requests.at(-1);
    expect(sent?.path).toBe(`/model/${encodeURIComponent(claudeModel)}/invoke`);
    expect(sent?.body).toEqual({
      max_tokens: 100,
      system: [{ ...marked, cache_control: { type: "ephemeral", ttl: "1h" } }],
      messages: [...messages, { role: "user", content: "Now in French." }],
      context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
      anthropic_version: "bedrock-2023-05-31",
      anthropic_beta: ["tool-search-tool-2025-10-19", "context-1m-2025-08-07"],
    });
  });

  test("the client's anthropic-version decides about the one in the body, and so about temperatures", async () => {
    const versions = { "2026-10-21": "2026-10-21", "2023-06-01": "bedrock-2023-05-31" };
    for (const [asked, wanted] of Object.entries(versions)) {
      const response = await sluice.request("/v1/messages", {
        key,
        headers: { "anthropic-version": asked },
        body: { model: "claude", max_tokens: 100, messages },
      });
      expect(response.status).toBe(200);
      expect(fake.provider.requests.at(-1)?.body).toMatchObject({ anthropic_version: wanted });
    }
    for (const response of [
      await chat("claude", { temperature: 0.5 }),
      await ask("claude", { temperature: 0.5 }),
    ]) {
      expect(response.status).toBe(200);
      const { body } = fake.provider.requests.at(-1) ?? {};
      expect(body).toMatchObject({ anthropic_version: "bedrock-2023-05-31", temperature: 0.5 });
    }
  });

  test("a chat client's conversation with tools is cached, unless the operator says no (B43)", async () => {
    const tool = {
      type: "function",
      function: { name: "look", parameters: { type: "object", properties: {} } },
    };
    const turns = [...messages, { role: "assistant", content: "Hi." }, { role: "user", content: "And?" }];
    const sentTo = async (id: string): Promise<string> => {
      expect((await chat(id, { messages: turns, tools: [tool] })).status).toBe(200);
      return fake.provider.requests.at(-1)?.text ?? "";
    };
    expect((await sentTo("claude")).match(/"cache_control":\{"type":"ephemeral"\}/g)).toHaveLength(3);
    expect((await sentTo("claude-converse")).match(/"cachePoint":\{"type":"default"\}/g)).toHaveLength(3);
    expect(await sentTo("claude-uncached")).not.toContain("cache");
    expect(await sentTo("nova")).not.toContain("cache");
  });

  test("what a client would miss is refused, and nothing is asked (B20, B25)", async () => {
    const before = fake.provider.requests.length;
    const refused = await ask("claude", {
      mcp_servers: [{ type: "url", url: "https://example.com", name: "m" }],
    });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("mcp_servers");
    const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    const byAddress = await ask("claude", { messages: [{ role: "user", content: [image] }] });
    expect(byAddress.status).toBe(400);
    expect(await byAddress.text()).toContain("messages[0].content[0].source");
    const threaded = await ask("claude", { thread: { type: "create" } });
    expect(threaded.status).toBe(400);
    expect(await threaded.json()).toMatchObject({
      error: { details: { error_code: "thread_unsupported_request" } },
    });
    expect(fake.provider.requests).toHaveLength(before);
  });

  test("null in such a field is absent (B20)", async () => {
    const names = ["thread", "container", "mcp_servers", "compaction", "fallbacks", "cache_control", "speed"];
    const response = await ask("claude", Object.fromEntries(names.map((name) => [name, null])));
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-dropped")).toBeNull();
    for (const name of names) expect(fake.provider.requests.at(-1)?.body).not.toHaveProperty(name);
  });

  test("tokens are counted by Bedrock, for Claude too (B61)", async () => {
    for (const id of ["claude", "nova"]) {
      const counted = await sluice.request("/v1/messages/count_tokens", {
        key,
        body: { model: id, messages },
      });
      expect(await counted.json()).toMatchObject({ input_tokens: 25 });
      expect(counted.headers.get("x-sluice-count")).toBe("exact");
      expect(fake.provider.requests.at(-1)?.body).toEqual({
        input: { converse: { messages: [{ role: "user", content: [{ text: "Hello" }] }] } },
      });
    }
  });
});

describe("failures", () => {
  const refusals = [
    ["B54: a wrong request", 400, "ValidationException", "roles must alternate", 400, "invalid_request"],
    ["B58: a used-up quota", 400, "ServiceQuotaExceededException", "Your quota", 503, "service_unavailable"],
    ["B60: an internal error", 500, "InternalServerException", "Internal", 502, "upstream_error"],
  ] as const;
  for (const [title, status, type, message, expected, code] of refusals) {
    test(`${title} becomes ${code}, without a charge`, async () => {
      fake.instead = awsError(status, type, message);
      const payer = await newKey();
      const body = { model: "claude-converse", messages };
      const refused = await sluice.request("/v1/chat/completions", { key: payer, body });
      expect(await refused.json()).toMatchObject({ error: { code } });
      expect(refused.status).toBe(expected);
      expect(await used(payer)).toBe(0);
    });
  }

  for (const id of ["claude", "claude-converse"]) {
    for (const stream of [false, true]) {
      test(`B41, C48: a signature of another account is left out at the second attempt (${id}, streamed: ${stream})`, async () => {
        const payer = await newKey();
        const thinking = { type: "thinking", thinking: "hm", signature: unknownSignature };
        const turns = [
          ...messages,
          { role: "assistant", content: [thinking, { type: "text", text: "Hm." }] },
        ];
        const before = fake.provider.requests.length;
        const answer = await sluice.request("/v1/messages", {
          key: payer,
          body: { model: id, max_tokens: 100, messages: [...turns, ...messages], stream },
        });
        expect(answer.status).toBe(200);
        expect(await answer.text()).toContain(fixtureText.slice(0, 5));
        expect(answer.headers.get("x-sluice-dropped")).toBe("thinking");
        const seen = fake.provider.requests.slice(before);
        expect(seen.map(({ text }) => text.includes(unknownSignature))).toEqual([true, false]);
        expect(await used(payer)).toBeGreaterThan(0);
      });
    }
  }

  test("an exception as the first frame is an error before anything was sent (B52)", async () => {
    fake.instead = eventStream(encodeException("throttlingException", { message: "Too many tokens" }));
    const refused = await chat("nova", { stream: true });
    expect(await refused.json()).toMatchObject({ error: { code: "service_unavailable" } });
    expect(refused.status).toBe(503);
  });

  test("so is one right after the event that announces the message (B52)", async () => {
    const busy = encodeException("serviceUnavailableException", { message: "Too busy" });
    fake.instead = eventStream(...converseFrames.slice(0, 1), busy);
    const payer = await newKey();
    const body = { model: "nova", messages, stream: true };
    const refused = await sluice.request("/v1/chat/completions", { key: payer, body });
    expect(await refused.json()).toMatchObject({ error: { code: "service_unavailable" } });
    expect(refused.status).toBe(503);
    expect(await used(payer)).toBe(0);
  });

  test("a later one ends the stream in the client's words, and what came is charged (B52)", async () => {
    const payer = await sluice.createKey({ credit: 1 });
    await waitFor(async () => (await sluice.request("/v1/usage", { key: payer })).status === 200, "the key");
    const broken = encodeException("internalServerException", { message: "It broke" });
    fake.instead = eventStream(...converseFrames.slice(0, 3), broken);
    const body = { model: "nova", messages, stream: true };
    const streamed = await readStream(await sluice.request("/v1/chat/completions", { key: payer, body }));
    expect(streamed.text).toContain('"error"');
    expect(streamed.text).not.toContain("[DONE]");
    expect(await used(payer)).toBeGreaterThan(0);
  });

  for (const stream of [false, true]) {
    test(`B47: a malformed call is an error that is charged by its figures (streamed: ${stream})`, async () => {
      const stopReason = "malformed_tool_use";
      const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
      const whole = { output: { message: { role: "assistant", content: [] } }, stopReason, usage };
      fake.instead = stream
        ? eventStream(
            encodeEvent("messageStart", { role: "assistant" }),
            encodeEvent("messageStop", { stopReason }),
            encodeEvent("metadata", { usage }),
          )
        : json(whole);
      const payer = await newKey();
      const body = { model: "nova", messages, stream };
      const failed = await sluice.request("/v1/chat/completions", { key: payer, body });
      expect(failed.status).toBe(stream ? 200 : 502);
      const text = await failed.text();
      expect(text).toContain(stopReason);
      expect(text).not.toContain("[DONE]");
      expect(await used(payer)).toBe(0.00002);
    });
  }

  test("a damaged frame is a broken answer, and the connection is not used again (B12)", async () => {
    // Not `slice`, which makes a view of a Buffer: others use the same frames.
    const damaged = new Uint8Array(converseFrames[2] ?? []);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
    fake.instead = eventStream(...converseFrames.slice(0, 2), damaged, ...converseFrames.slice(3));
    const streamed = await readStream(await chat("nova", { stream: true }));
    expect(streamed.text).toContain('"error"');
    fake.instead = null;
    expect((await chat("nova")).status).toBe(200);
  });

  test("the model check says what to do, and no secret or account number is anywhere (B11, T18)", async () => {
    const checked = await sluice.run("models", "check");
    expect(checked.stdout + checked.stderr).toContain('Bedrock does not know "no.such-model"');
    const refused = await (await chat("unknown")).text();
    expect((await chat("nova")).status).toBe(200);
    await sluice.told('"deployment":"temporary/application-inference-profile/nova1"');
    const kept = (await sluice.cli("requests", "list", "--json")).stdout;
    const everything = sluice.output + refused + checked.stdout + checked.stderr + kept;
    const { apiKey, secretAccessKey, sessionToken } = awsAccount;
    const account = "123456789012";
    for (const canary of [apiKey, secretAccessKey, sessionToken, account])
      expect(everything).not.toContain(canary);
  });
});
