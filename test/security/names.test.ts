import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

/** A provider that folds the case of names must not be asked for another model than the key was checked for. */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const tail = `
[providers.any]
kind = "openai-compatible"
base_url = "${provider.url}/any/v1"
dialects = ["chat", "responses", "messages"]

[providers.demo]
kind = "demo"

[[models]]
id = "any-test"
provider = "any"
price = { input = 1.0, output = 2.0 }

[[models]]
id = "demo-test"
provider = "demo"
price = { input = 1.0, output = 2.0 }

[[models]]
id = "gpt-wide"
provider = "openai"
price = { input = 1.0, output = 2.0 }

[[models]]
id = "mixed-test"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
[[models.deployments]]
provider = "openai"
[[models.deployments]]
provider = "any"
priority = 2
`;
  sluice = await startSluice({ config: configFor({ url: provider.url, tail }) });
  key = await sluice.createKey();
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const user = '"messages":[{"role":"user","content":"Hello"}]';
const routes = [
  ["/v1/chat/completions", `"model":"any-test",${user}`],
  ["/v1/responses", '"model":"any-test","input":"Hello"'],
  ["/v1/messages", `"model":"any-test",${user}`],
  ["/v1/messages/count_tokens", `"model":"any-test",${user}`],
] as const;

const tricks = [
  ["Model", '"Model":"local-upstream"'],
  ["MAX_TOKENS", '"MAX_TOKENS":99999'],
  ["N", '"N":50'],
  ["Model", '"\\u004dodel":"local-upstream"'],
  ["max_to\u212Aens", '"max_to\\u212aens":99999'],
  ["\u017Ftream", '"\u017Ftream":true'],
  ["extra_body.model", '"extra_body":{"google":{"a":1},"model":"local-upstream"}'],
  ["extra_body.Model", '"extra_body":{"Model":"local-upstream"}'],
  ["extra_body.n", '"extra_body":{"n":50}'],
  ["extra_body", '"extra_body":"{\\"model\\":\\"local-upstream\\"}"'],
  ["extra_body", '"extra_body":"model=local-upstream"'],
  ["extra_body.extra_body", '"extra_body":{"extra_body":{"model":"local-upstream"}}'],
  ["stream_options.Include_Usage", '"stream_options":{"Include_Usage":false}'],
  ["stream_options.include_usage", '"stream_options":{"include_usage":true,"include_usage":false}'],
  ["tools[0].Type", '"tools":[{"type":"function","name":"x","Type":"web_search"}]'],
] as const;

for (const [path, start] of routes) {
  for (const [param, trick] of tricks) {
    test(`${path} refuses ${trick}`, async () => {
      for (const body of [`{${start},${trick}}`, `{${trick},${start}}`]) {
        const response = await sluice.request(path, { key, body });
        expect(response.status).toBe(400);
        const { error } = (await response.json()) as {
          error: { message: string; param?: string; code: string };
        };
        expect(error.code).toBe("invalid_request");
        expect(error.message).toContain(param);
      }
      expect(provider.requests).toEqual([]);
      const usage = await (await sluice.request("/v1/usage", { key })).json();
      expect(usage).toMatchObject({ credits: { reserved: 0, used: 0 } });
    });
  }
}

const passed =
  '"Model":"x","Stream":true,"MAX_TOKENS":9,"extra_body":{"model":"y"},"speed":"fast","knowledge_id":"k"';
const ownFields: readonly (readonly [path: string, body: string])[] = [
  ["/v1/chat/completions", `"model":"gpt-test",${user}`],
  ["/v1/responses", '"model":"gpt-test","input":"Hello"'],
  ["/v1/messages", `"model":"claude-test",${user}`],
];

test("extra fields pass unchanged to a vendor that neither folds names nor has such fields", async () => {
  for (const [path, start] of ownFields) {
    const isClaude = path === "/v1/messages";
    const fields = isClaude ? passed.replace('"speed":"fast",', "") : passed;
    provider.reset();
    const response = await sluice.request(path, { key, body: `{${start},${fields},"route":"x"}` });
    expect(response.status, await response.text()).toBe(200);
    expect(response.headers.get("x-sluice-dropped")).toBeNull();
    expect(provider.requests[0]?.text).toContain(`${fields},"route":"x"`);
  }
});

test("extra fields pass in a body that is too large for the event loop", async () => {
  const content = "a line of text\\n".repeat(100_000);
  const large = (model: string) =>
    `{"model":"${model}","messages":[{"role":"user","content":"${content}"}],"Model":"x","provider":{"order":["x"]}}`;
  const refused = await sluice.request("/v1/chat/completions", { key, body: large("any-test") });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("`Model`")]);
  const passing = await sluice.request("/v1/chat/completions", { key, body: large("gpt-wide") });
  expect(passing.status, await passing.text()).toBe(200);
});

test("extra fields pass to the demo, and are dropped and named where a request is translated", async () => {
  const demo = await sluice.request("/v1/chat/completions", {
    key,
    body: `{"model":"demo-test",${user},${passed}}`,
  });
  expect(demo.status, await demo.text()).toBe(200);
  const body = `{"model":"local-test",${user},"Model":"x","speed":"fast","knowledge_id":"k"}`;
  const translated = await sluice.request("/v1/messages", { key, body });
  expect(translated.status, await translated.text()).toBe(200);
  expect(translated.headers.get("x-sluice-dropped")).toBe("Model, speed, knowledge_id");
  expect(JSON.stringify(provider.requests[0]?.body)).not.toContain("knowledge_id");
});

test("a spelling that one of a model's providers may fold is refused, whichever would answer", async () => {
  const body = `{"model":"mixed-test",${user},"Model":"x"}`;
  expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(400);
  expect(provider.requests).toEqual([]);
});

test("a vendor's ids are refused toward that vendor and toward servers that may be it", async () => {
  const ask = (model: string, name: string) =>
    sluice.request("/v1/chat/completions", { key, body: `{"model":"${model}",${user},"${name}":"x"}` });
  for (const name of ["knowledge_id", "knowledge_ids", "library_ids", "collection_ids"]) {
    expect((await ask("any-test", name)).status).toBe(404);
    expect((await ask("gpt-test", name)).status).toBe(200);
  }
  expect((await ask("gpt-test", "file_id")).status).toBe(404);
  for (const tool of [
    { type: "document_library", library_ids: ["x"] },
    { type: "retrieval", retrieval: { knowledge_id: "x" } },
  ]) {
    const body = { model: "any-test", messages: [{ role: "user", content: "Hello" }], tools: [tool] };
    expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(404);
  }
});

test("what Google's servers take in extra_body passes", async () => {
  const extra_body = { google: { thinking_config: { include_thoughts: true } } };
  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], extra_body };
  expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  expect(provider.requests[0]?.body["extra_body"]).toEqual(extra_body);
});
