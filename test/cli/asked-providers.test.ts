import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { json } from "../support/answers.ts";
import { usualResponse } from "../support/fixtures.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { sluice } from "./fixtures.ts";

/** Ollama, Bedrock and Vertex AI, on one socket. */
const server = startProvider();
beforeEach(() => server.reset());
afterAll(() => server.stop());

const body = { model: "llama3.2:latest", messages: [{ role: "user", content: "Hello" }], max_tokens: 16 };
const keyOf = (gateway: Sluice) =>
  gateway.cliJson<TestKey>("keys", "create", "--mode", "credit", "--credit", "1");

/** Lists two models, and describes them as Ollama does. */
function playOllama(): void {
  server.script((request) => {
    if (request.path === "/v1/models")
      return json({ data: [{ id: "llama3.2:latest", owned_by: "library" }, { id: "nomic-embed:latest" }] });
    if (request.path !== "/api/show") return usualResponse(request);
    return request.body["model"] === "llama3.2:latest"
      ? json({ model_info: { "llama.context_length": 131_072 }, parameters: "stop  x\nnum_ctx    8192\n" })
      : json({ model_info: { "bert.context_length": 2048 }, capabilities: ["embedding"] });
  });
}

describe("serve --local", () => {
  test("serves the models of the server at OLLAMA_HOST, free, with the windows that they run with", async () => {
    playOllama();
    const env = { OLLAMA_HOST: server.url.replace("http://", "") };
    await using gateway = await Sluice.start({ env, args: ["--local"] });
    await gateway.told("listening on");
    expect(gateway.output).toMatch(/local +2 models at \S+ \(--local\), free/);
    const key = await keyOf(gateway);
    const { data } = (await (await gateway.request("/v1/models", { key })).json()) as {
      data: { id: string; context_window: number | null }[];
    };
    const windows = new Map(data.map(({ id, context_window }) => [id, context_window]));
    expect([windows.get("llama3.2:latest"), windows.get("nomic-embed:latest")]).toEqual([8192, null]);
    const response = await gateway.request("/v1/chat/completions", { key, body });
    expect([response.status, response.headers.get("x-sluice-cost")]).toEqual([200, "0"]);
    const embedding = { ...body, model: "nomic-embed:latest" };
    expect((await gateway.request("/v1/chat/completions", { key, body: embedding })).status).toBe(400);
  }, 60_000);

  test.each([
    ["nothing answers there", { OLLAMA_HOST: "127.0.0.1:9" }, "start Ollama, or set OLLAMA_HOST"],
    ["it is no address", { OLLAMA_HOST: "http://[" }, "OLLAMA_HOST is not an address"],
  ])("refuses to start if %s, and says what to do", async (_, env, advice) => {
    const folder = newFolder();
    const place = { folder, env: { ...env, SLUICE_DATA: join(folder, "data") } };
    const { code, stderr } = await sluice(place, "serve", "--local", "--port", "0");
    expect([code, stderr]).toEqual([1, expect.stringContaining(advice)]);
  });

  test("refuses a server without models", async () => {
    server.script(json({ data: [] }));
    const folder = newFolder();
    const place = { folder, env: { OLLAMA_HOST: server.url, SLUICE_DATA: join(folder, "data") } };
    const { code, stderr } = await sluice(place, "serve", "--local", "--port", "0");
    expect([code, stderr]).toEqual([1, expect.stringContaining("has no models")]);
  });
});

describe("serve --bedrock", () => {
  const env = {
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: server.url,
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  };

  test("serves Claude by global profiles, at list price, with AWS's own credentials, and asks nothing at the start", async () => {
    await using gateway = await Sluice.start({ env, args: ["--bedrock", "eu-central-1"] });
    await gateway.told("listening on");
    expect(gateway.output).toMatch(
      /bedrock +\d+ models at \S+ \(--bedrock eu-central-1\), list prices checked/,
    );
    expect(gateway.output).toContain("plain ids can run in any region of AWS");
    expect(server.requests).toEqual([]);
    server.script(
      json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "x",
        content: [],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 1000, output_tokens: 100 },
      }),
    );
    const message = { model: "claude-opus-5-5", max_tokens: 16, messages: body.messages };
    const response = await gateway.request("/v1/messages", { key: await keyOf(gateway), body: message });
    expect([response.status, response.headers.get("x-sluice-cost")]).toEqual([200, "0.006"]);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/model/global.anthropic.claude-opus-5-5/invoke",
    ]);
    expect(server.requests[0]?.headers["authorization"]).toContain(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/",
    );
    expect(server.requests[0]?.headers["authorization"]).toContain("/eu-central-1/bedrock/aws4_request");
  }, 60_000);

  test.each(["cn-north-1", "us-gov-west-1", "Frankfurt"])(
    "refuses %s, where these profiles are not",
    async (region) => {
      const folder = newFolder();
      const { code, stderr } = await sluice({ folder, env: {} }, "serve", "--bedrock", region);
      expect([code, stderr]).toEqual([2, expect.stringContaining("such as us-east-1")]);
    },
  );

  test("is not mixed into a file", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "sluice.toml"), "[server]\n");
    const { code, stderr } = await sluice({ folder, env: {} }, "serve", "--bedrock", "us-east-1");
    expect(code).not.toBe(0);
    expect(stderr).toContain("add [providers.bedrock] to this one instead");
  });
});

describe("serve --vertex", () => {
  test("serves Gemini and Claude with Google's own credentials", async () => {
    const metadata = server.url.replace("http://", "");
    const env = { GOOGLE_VERTEX_BASE_URL: server.url, GCE_METADATA_HOST: metadata };
    await using gateway = await Sluice.start({ env, args: ["--vertex", "my-project-123"] });
    await gateway.told("listening on");
    expect(gateway.output).toMatch(
      /vertex +\d+ models at \S+ \(--vertex my-project-123\), list prices checked/,
    );
    expect(server.requests).toEqual([]);
    server.script((request) => {
      if (request.path.includes("computeMetadata"))
        return json({ access_token: "ya29.test", expires_in: 3600, token_type: "Bearer" });
      return json({
        candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 },
      });
    });
    const chat = { ...body, model: "gemini-3.8-flash" };
    const response = await gateway.request("/v1/chat/completions", { key: await keyOf(gateway), body: chat });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("Hi")]);
    expect(server.requests.at(-1)).toMatchObject({
      path: "/v1beta1/projects/my-project-123/locations/global/publishers/google/models/gemini-3.8-flash:generateContent",
      headers: { authorization: "Bearer ya29.test" },
    });
  }, 60_000);
});
