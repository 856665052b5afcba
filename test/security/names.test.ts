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
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
  key = await sluice.createKey({ models: ["gpt-test", "claude-test"] });
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const user = '"messages":[{"role":"user","content":"Hello"}]';
const routes = [
  ["/v1/chat/completions", `"model":"gpt-test",${user}`],
  ["/v1/responses", '"model":"gpt-test","input":"Hello"'],
  ["/v1/messages", `"model":"claude-test",${user}`],
  ["/v1/messages/count_tokens", `"model":"claude-test",${user}`],
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

test("what Google's servers take in extra_body passes", async () => {
  const extra_body = { google: { thinking_config: { include_thoughts: true } } };
  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], extra_body };
  expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  expect(provider.requests[0]?.body["extra_body"]).toEqual(extra_body);
});
