import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, sse } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { refusalOf, setUp } from "./fixtures.ts";

let first: ScriptedProvider;
let second: ScriptedProvider;

beforeEach(() => {
  first = startProvider();
  second = startProvider();
});

afterEach(() => {
  first.stop();
  second.stop();
});

/** What vendors say with 400 of a model that they do not have, or have no more. */
const refusals: Readonly<Record<string, JsonObject>> = {
  "OpenAI, responses": {
    error: {
      message: "The requested model 'gpt-9' does not exist.",
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    },
  },
  DeepSeek: {
    error: {
      message: "Model Not Exist",
      type: "invalid_request_error",
      param: null,
      code: "invalid_request_error",
    },
  },
  Mistral: {
    object: "error",
    message: "Invalid model: mistral-9",
    type: "invalid_model",
    param: null,
    code: "1500",
  },
  Groq: {
    error: {
      message: "The model `mixtral-8x7b-32768` has been decommissioned and is no longer supported.",
      type: "invalid_request_error",
      code: "model_decommissioned",
    },
  },
  "a retired model": {
    error: { message: "The model `gpt-4-32k` has been deprecated, learn more here: https://x.example" },
  },
  OpenRouter: { error: { message: "acme/gpt-9 is not a valid model ID", code: 400 } },
  "llama-server's router": {
    error: { code: 400, message: "model 'gpt-9' not found", type: "invalid_request_error" },
  },
  "a router that may not load it": {
    error: { code: 400, message: "model is not loaded", type: "invalid_request_error" },
  },
  GitHub: { error: { code: "unknown_model", message: "Unknown model: gpt-9" } },
  SiliconFlow: { code: 20012, message: "Model does not exist. Please check it carefully.", data: null },
  xAI: {
    code: "Some requested entity was not found",
    error: "The model grok-9 does not exist or your team has no access to it.",
  },
};

describe.each(Object.entries(refusals))(
  "a model that the provider does not have, as %s says it",
  (_, body) => {
    test("goes to the next deployment, and is an alarm", async () => {
      first.script(json(body, { status: 400 }));
      second.script(answerFrom("chat/text.json"));
      const { upstream, plan, log } = setUp([{ url: first.url }, { url: second.url, priority: 2 }]);
      const opened = await upstream.open(plan());
      opened.finished("completed");
      expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
      expect(log).toMatchObject([
        { level: "error", fields: { deployment: "p0/real", failure: "status_400" } },
      ]);
    });

    test("is not told to the client, who cannot change it", async () => {
      first.script(json(body, { status: 400 }));
      const { upstream, plan, log } = setUp([{ url: first.url }]);
      const told = await refusalOf(upstream, plan());
      expect(told).toMatchObject({ status: 502, code: "upstream_error" });
      expect(told.message).toBe(
        "The provider rejected the gateway, not your request. Contact the operator and quote the request id.",
      );
      expect(log.map(({ level }) => level)).toEqual(["error"]);
    });
  },
);

test("what a model cannot do is told with the client's name of it", async () => {
  for (const [said, heard] of [
    ["registry.ollama.ai/library/real does not support tools", "m does not support tools"],
    [
      '"real" does not support thinking; real: use another. The real.',
      '"m" does not support thinking; m: use another. The m.',
    ],
    [
      "realistic, unreal, real-time, real.1, real:1 and a/real",
      "realistic, unreal, real-time, real.1, real:1 and a/real",
    ],
  ] as const) {
    first.script(json({ error: { message: said } }, { status: 400 }));
    const { upstream, plan } = setUp([{ url: first.url }]);
    const told = await refusalOf(upstream, plan());
    expect([told.status, told.message]).toEqual([400, heard]);
  }
});

test("one that is gone goes to the next deployment, and is an alarm", async () => {
  first.script(
    json({ error: "The requested model is deprecated and no longer supported." }, { status: 410 }),
  );
  second.script(answerFrom("chat/text.json"));
  const { upstream, plan, log } = setUp([{ url: first.url }, { url: second.url, priority: 2 }]);
  (await upstream.open(plan())).finished("completed");
  expect(log).toMatchObject([{ level: "error", fields: { failure: "status_410" } }]);
});

test("one that is refused within a 200 is an alarm too", async () => {
  first.script(sse(`data: ${JSON.stringify(refusals["OpenAI, responses"])}\n\n`));
  second.script(answerFrom("chat/text.sse"));
  const { upstream, plan, log } = setUp([{ url: first.url }, { url: second.url, priority: 2 }]);
  (await upstream.open(plan({ stream: true }))).finished("completed");
  expect(log).toMatchObject([{ level: "error", fields: { failure: "error_in_200" } }]);
});

describe("what is the client's own stays a 400", () => {
  const own: readonly JsonObject[] = [
    { message: "The model 'gpt-image-9' does not exist.", param: "tools[0].model", code: "model_not_found" },
    { message: "Invalid value: the model does not exist in your prompt" },
    { message: "Invalid model output format", param: "response_format" },
    { message: "temperature: this model is deprecated in favour of none" },
  ];
  test.each([...own])("%o", async (error) => {
    first.script(json({ error }, { status: 400 }));
    const { upstream, plan } = setUp([{ url: first.url }, { url: second.url, priority: 2 }]);
    expect(await refusalOf(upstream, plan())).toMatchObject({
      status: 400,
      message: String(error["message"]),
    });
    expect(second.requests).toEqual([]);
  });
});
