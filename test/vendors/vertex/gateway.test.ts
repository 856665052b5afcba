import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AnthropicVertex } from "@anthropic-ai/vertex-sdk";
import { GoogleGenAI } from "@google/genai";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Caller, World } from "../../gateway/world.ts";
import { json, text } from "../../support/answers.ts";
import { fixtureText } from "../../support/fixtures.ts";
import { newFolder } from "../../support/new-folder.ts";
import { googleError } from "../gemini/fake-gemini.ts";
import { keyFile, privateKeyLines, startFakeVertex, vertexAccount } from "./fake-vertex.ts";

const fake = startFakeVertex();
const folder = newFolder();
writeFileSync(join(folder, "sa.json"), keyFile(fake.tokenUri));

const model = (id: string, upstream: string, provider = "vertex") => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
context_window = 1000000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, cached_input = 0.1 }
capabilities = { tools = true }
`;

const tail = `
[providers.vertex]
kind = "vertex"
base_url = "${fake.url}"
location = "europe-west1"
credentials = "file:${folder}/sa.json"
${model("claude", "claude-sonnet-4-6@20260101")}
${model("gemini", "gemini-3.1-pro-preview")}
${model("open", "meta/llama-4-maverick")}
${model("missing", "claude-missing-1")}
`;

let world: World;
let caller: Caller;

beforeAll(async () => {
  world = await World.start({ tail });
}, 120_000);

beforeEach(async () => {
  fake.provider.requests.length = 0;
  fake.problem = null;
  caller = await world.creditCaller();
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  fake.stop();
});

const hello = [{ role: "user", content: "Hello" }];

function ask(path: string, body: JsonObject, headers: Record<string, string> = {}): Promise<Response> {
  return world.ask(caller, { path, body, headers });
}

const messages = (id: string, more: JsonObject = {}, headers: Record<string, string> = {}) =>
  ask("/v1/messages", { model: id, max_tokens: 100, messages: hello, ...more }, headers);

function sent(): {
  readonly path: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const request = fake.provider.requests.findLast(({ path }) => path !== "/token");
  if (request === undefined) throw new Error("nothing was sent");
  return request;
}

const authClient = {
  getRequestHeaders: async () => new Headers({ authorization: `Bearer ${fake.token}` }),
};

describe("the fake is what the vendors' packages take for Vertex", () => {
  test("Anthropic's (V03, V04)", async () => {
    const authClient = {
      getRequestHeaders: async () => new Headers({ authorization: `Bearer ${fake.token}` }),
    };
    const client = new AnthropicVertex({
      region: "europe-west1",
      projectId: vertexAccount.project,
      baseURL: `${fake.url}/v1`,
      // The SDK asks its auth client for nothing else.
      authClient: authClient as never,
      maxRetries: 0,
    });
    const asked = {
      model: "claude-sonnet-4-6@20260101",
      max_tokens: 100,
      messages: [{ role: "user", content: "Hello" }],
    } as const;
    const whole = await client.messages.create({ ...asked, messages: [...asked.messages] });
    expect(whole.content[0]).toMatchObject({ text: fixtureText });
    expect(JSON.parse(sent().text)["anthropic_version"]).toBe("2026-10-21");
    const streamed = await client.messages.stream({ ...asked, messages: [...asked.messages] }).finalText();
    expect(streamed).toBe(fixtureText);
    const counted = await client.messages.countTokens({ model: asked.model, messages: [...asked.messages] });
    expect(counted.input_tokens).toBe(25);
  });

  test("Google's (V02, V17)", async () => {
    const client = new GoogleGenAI({
      vertexai: true,
      project: vertexAccount.project,
      location: "europe-west1",
      httpOptions: { baseUrl: fake.url },
      // The package asks its auth client for nothing else.
      googleAuthOptions: { authClient: authClient as never },
    });
    const asked = { model: "gemini-3.1-pro-preview", contents: "Hello" };
    expect((await client.models.generateContent(asked)).text).toBe("It is a lock.");
    let streamed = "";
    for await (const chunk of await client.models.generateContentStream(asked)) streamed += chunk.text ?? "";
    expect(streamed).toBe("It is a lock.");
  });
});

describe("Sluice before the same Vertex", () => {
  test("a body of Claude's differs from the client's in its model and version alone (V04, T09)", async () => {
    const body = `{ "model":"claude", "max_tokens" : 100,\n "messages":[{"role":"user","content":"é \\u00e9 1.0"}], "temperature": 1.0, "metadata":{"user_id":"u"} }`;
    const response = await fetch(`${world.running.url}/v1/messages`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${caller.secret}`,
        "anthropic-beta": "context-1m-2025-08-07,unknown-1",
      },
      body,
    });
    expect(await response.json()).toMatchObject({ content: [{ text: fixtureText }] });
    const version = '"anthropic_version":"vertex-2023-10-16",';
    expect(sent().text).toBe(body.replace('"model":"claude",', "").replace("{", `{${version}`));
    expect(sent().headers["anthropic-beta"]).toBe("context-1m-2025-08-07");
    expect(sent().headers).not.toHaveProperty("anthropic-version");
    expect(response.headers.get("x-sluice-dropped")).toBe("anthropic-beta: unknown-1");
  });

  const versions = {
    "2026-10-21": "2026-10-21",
    "2027-03-01": "2027-03-01",
    "2023-06-01": "vertex-2023-10-16",
    "2023-01-01": "vertex-2023-10-16",
  };
  for (const [asked, wanted] of Object.entries(versions)) {
    test(`the client's anthropic-version ${asked} is ${wanted} in the body`, async () => {
      for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
        const response = await fetch(`${world.running.url}${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${caller.secret}`, "anthropic-version": asked },
          body: JSON.stringify({ model: "claude", max_tokens: 100, messages: hello }),
        });
        expect(response.status).toBe(200);
        expect(JSON.parse(sent().text)).toMatchObject({ anthropic_version: wanted });
      }
    });
  }

  test("what is translated may have a temperature, since it names the version of 2023", async () => {
    const chat = await ask("/v1/chat/completions", { model: "claude", messages: hello, temperature: 0.5 });
    expect(chat.status).toBe(200);
    expect(JSON.parse(sent().text)).toMatchObject({
      anthropic_version: "vertex-2023-10-16",
      temperature: 0.5,
    });
  });

  test("a conversation with tools of a client that knows no marks is cached", async () => {
    const tool = { type: "function", name: "look", parameters: { type: "object", properties: {} } };
    const input = [...hello, { role: "assistant", content: "Hi." }, { role: "user", content: "And?" }];
    const response = await ask("/v1/responses", {
      model: "claude",
      input,
      tools: [tool],
      instructions: "Be brief.",
    });
    expect(response.status).toBe(200);
    expect(sent().text.match(/"cache_control":\{"type":"ephemeral"\}/g)).toHaveLength(4);
  });

  test("a mark keeps its time to live and loses its scope, and the tier is left out", async () => {
    const mark = { type: "ephemeral", ttl: "1h", scope: "global" };
    const bare = { type: "ephemeral", ttl: "1h" };
    const tool = { name: "look", input_schema: { type: "object" } };
    const marked = (cache_control: JsonObject) => ({
      system: [{ type: "text", text: "Be brief.", cache_control }],
      tools: [{ ...tool, cache_control }],
      messages: [{ role: "user", content: [{ type: "text", text: "Hello", cache_control }] }],
    });
    const response = await messages("claude", { ...marked(mark), service_tier: "auto" });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-dropped")).toBe("service_tier");
    expect(JSON.parse(sent().text)).toMatchObject(marked(bare));
    expect(sent().text).not.toContain("scope");
    expect(sent().text).not.toContain("service_tier");
  });

  test("a mark on the whole conversation is left out, and marks on its blocks are not (V06)", async () => {
    const marked = await messages("claude", { cache_control: { type: "ephemeral" } });
    expect(marked.status).toBe(200);
    expect(JSON.parse(sent().text)).not.toHaveProperty("cache_control");
    const blocks = await messages("claude", {
      messages: [
        { role: "user", content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }] },
      ],
    });
    expect(blocks.status).toBe(200);
    expect(sent().text).toContain('"cache_control":{"type":"ephemeral"}');
  });

  test("what only Anthropic keeps or runs is refused, and null in its place is absent (V06)", async () => {
    const before = fake.provider.requests.length;
    const threaded = await messages("claude", { thread: { type: "create" } });
    expect(threaded.status).toBe(400);
    expect(await threaded.json()).toMatchObject({
      error: { details: { error_code: "thread_unsupported_request" } },
    });
    expect((await messages("claude", { mcp_servers: [{ type: "url" }] })).status).toBe(400);
    expect(fake.provider.requests).toHaveLength(before);
    const absent = { thread: null, container: null, mcp_servers: null, cache_control: null };
    expect((await messages("claude", absent)).status).toBe(200);
    for (const name of Object.keys(absent)) expect(JSON.parse(sent().text)).not.toHaveProperty(name);
  });

  test("Claude Code's system messages reach Claude as the user's text (V04)", async () => {
    const response = await messages(
      "claude",
      { messages: [...hello, { role: "system", content: "Be brief." }] },
      { "anthropic-beta": "context-1m-2025-08-07" },
    );
    expect(response.status).toBe(200);
    expect(JSON.parse(sent().text)["messages"].at(-1)).toEqual({ role: "user", content: "Be brief." });
  });

  test("so it is with a body of more than a megabyte, which another thread changes (V04)", async () => {
    const long = "x".repeat(1_500_000);
    const large = [
      { role: "user", content: long },
      { role: "system", content: "Be brief." },
    ];
    for (const id of ["claude", "open"]) {
      const response = await messages(
        id,
        { messages: large, max_tokens: 10 },
        { "anthropic-beta": "context-1m-2025-08-07" },
      );
      expect(response.status, await response.text()).toBe(200);
    }
    const response = await messages("claude", { messages: [{ role: "user", content: long }] });
    expect(response.status).toBe(200);
    expect(JSON.parse(sent().text)).not.toHaveProperty("model");
  });

  for (const id of ["claude", "gemini", "open"]) {
    test(`T09: ${id} answers all clients, whole and streamed, and is charged by its own figures`, async () => {
      const said = id === "gemini" ? "It is a lock." : fixtureText;
      const asks = [
        ["/v1/messages", { max_tokens: 100, messages: hello }],
        ["/v1/chat/completions", { messages: hello }],
        ["/v1/responses", { input: "Hello" }],
      ] as const;
      for (const [path, body] of asks) {
        for (const stream of [false, true]) {
          const response = await ask(path, { model: id, ...body, stream });
          const answer = await response.text();
          expect(response.status, answer).toBe(200);
          if (!stream) expect(answer).toContain(said);
        }
      }
      const charges = await world.chargesOf(caller);
      expect(charges).toHaveLength(6);
      expect(charges.every(({ basis }) => basis === "measured")).toBe(true);
    });
  }

  test("Claude's tokens are counted by Vertex, and so are Gemini's (V03)", async () => {
    const body = { messages: hello };
    const counted = await ask("/v1/messages/count_tokens", { model: "claude", ...body });
    expect(await counted.json()).toEqual({ input_tokens: 25 });
    expect(sent().path).toEndWith("/publishers/anthropic/models/count-tokens:rawPredict");
    expect(JSON.parse(sent().text)).toMatchObject({
      model: "claude-sonnet-4-6@20260101",
      anthropic_version: "vertex-2023-10-16",
    });
    const gemini = await ask("/v1/messages/count_tokens", { model: "gemini", ...body });
    expect(await gemini.json()).toEqual({ input_tokens: 31 });
    expect(JSON.parse(sent().text)).toHaveProperty("contents");
  });

  test("Gemini on Vertex gets no ids of calls and no tier (V17)", async () => {
    const tool = {
      type: "function",
      function: { name: "look", parameters: { type: "object", properties: {} } },
    };
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    const turns = [
      ...hello,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "seen" },
    ];
    const response = await ask("/v1/chat/completions", {
      model: "gemini",
      messages: turns,
      tools: [tool],
      service_tier: "default",
    });
    expect(response.status).toBe(200);
    expect(sent().text).not.toContain("call_1");
    expect(sent().text).not.toContain("serviceTier");
  });

  test("one token serves a hundred requests, and a refused one is replaced once (T08)", async () => {
    fake.revokeTokens();
    const before = fake.issued;
    const answers = await Promise.all(Array.from({ length: 100 }, () => messages("claude")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(fake.issued).toBe(before + 1);
    await world.reload((config) => config);
    expect((await messages("claude")).status).toBe(200);
    expect(fake.issued).toBe(before + 1);
  });

  test("project, account, key and tokens are in no error and in no record of one (T18)", async () => {
    const email = vertexAccount.email;
    const leaks = `${email} of projects/${vertexAccount.project} with ${privateKeyLines[3]} and canary-google-token-1`;
    const told: string[] = [];
    for (const problem of [
      googleError(400, "INVALID_ARGUMENT", `Bad request by ${leaks}`),
      googleError(403, "PERMISSION_DENIED", `Permission denied for ${leaks}`),
      googleError(429, "RESOURCE_EXHAUSTED", `Quota of ${leaks}`),
      json({ type: "error", error: { type: "api_error", message: leaks } }),
      text(leaks, "text/plain", { status: 500 }),
    ]) {
      fake.problem = problem;
      for (const id of ["claude", "gemini", "open"]) told.push(await (await messages(id)).text());
    }
    fake.problem = null;
    told.push(await (await messages("missing")).text());
    fake.revokeTokens();
    fake.tokenTrouble = json({ error: "invalid_grant", error_description: leaks }, { status: 400 });
    const unavailable = await messages("claude");
    expect(unavailable.status).toBe(502);
    told.push(await unavailable.text(), JSON.stringify(world.observed));
    fake.tokenTrouble = null;
    const everything = told.join("\n");
    expect(told.at(-2)).toContain("provider_unavailable");
    for (const secret of [...Object.values(vertexAccount), ...privateKeyLines, "canary-google-token"]) {
      expect(everything).not.toContain(secret);
    }
  });
});
