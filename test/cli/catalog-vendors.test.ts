import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json } from "../support/answers.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";

/**
 * One gateway with the keys of all vendors in its environment, and one server in the place of all of them. The prices are written here
 * as the vendors' price lists have them, in USD per million tokens, apart from the catalog.
 */
const vendors: readonly [
  vendor: string,
  variable: string,
  models: readonly (readonly [model: string, input: number, output: number])[],
  embedding?: readonly [model: string, input: number],
][] = [
  [
    "openai",
    "OPENAI",
    [
      ["gpt-6.1-sol", 2, 10],
      ["gpt-4o", 2.5, 10],
      ["gpt-4o-2024-11-20", 2.5, 10],
      ["gpt-5-nano", 0.05, 0.4],
    ],
    ["text-embedding-3-small", 0.02],
  ],
  [
    "deepseek",
    "DEEPSEEK",
    [
      ["deepseek-v4-pro", 1.32, 3.96],
      ["deepseek-flash", 0.3, 1.2],
    ],
  ],
  [
    "mistral",
    "MISTRAL",
    [
      ["mistral-large-latest", 0.5, 1.5],
      ["mistral-medium-2508", 0.4, 2],
    ],
    ["mistral-embed", 0.1],
  ],
  [
    "xai",
    "XAI",
    [
      ["grok-4.3", 1.25, 2.5],
      ["grok-4.5", 2, 6],
    ],
  ],
  [
    "cohere",
    "COHERE",
    [
      ["command-a-03-2025", 2.5, 10],
      ["command-r7b-12-2024", 0.0375, 0.15],
    ],
  ],
  [
    "groq",
    "GROQ",
    [
      ["llama-3.3-70b-versatile", 0.59, 0.79],
      ["openai/gpt-oss-20b", 0.075, 0.3],
    ],
  ],
  ["together", "TOGETHER", [["together/openai/gpt-oss-20b", 0.05, 0.2]]],
  ["fireworks", "FIREWORKS", [["accounts/fireworks/models/deepseek-v3p1", 0.56, 1.68]]],
  ["cerebras", "CEREBRAS", [["gpt-oss-120b", 0.35, 0.75]]],
  ["moonshot", "MOONSHOT", [["kimi-k2.6", 0.95, 4]]],
  [
    "zai",
    "ZAI",
    [
      ["glm-5.1", 1.4, 4.4],
      ["glm-4.5-air", 0.2, 1.1],
    ],
  ],
  ["alibaba", "DASHSCOPE", [["qwen-max", 1.6, 6.4]]],
  ["minimax", "MINIMAX", [["MiniMax-M2.5", 0.3, 1.2]]],
];

const vendor = startProvider();
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  const env = Object.fromEntries(
    [...vendors, ["perplexity", "PERPLEXITY"] as const].flatMap(([name, variable]) => [
      [`${variable}_API_KEY`, `key-of-${name}`],
      // Cohere's own API ends like this.
      [`${variable}_BASE_URL`, `${vendor.url}/${name}/${name === "cohere" ? "v2" : "v1"}`],
    ]),
  );
  sluice = await Sluice.start({ env });
  await sluice.told("listening on");
  key = await sluice.createKey({ credit: 100 });
});
afterAll(async () => {
  await sluice[Symbol.asyncDispose]();
  await vendor.stop();
});

const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };

async function spent(path: string, body: JsonObject): Promise<number> {
  const before = await usedCredits();
  const response = await sluice.request(path, { key, body });
  expect([body["model"], response.status, response.status === 200 ? "" : await response.text()]).toEqual([
    body["model"],
    200,
    "",
  ]);
  await response.text().catch(() => "");
  return (await usedCredits()) - before;
}

async function usedCredits(): Promise<number> {
  const summary = (await (await sluice.request("/v1/usage", { key })).json()) as {
    credits: { used: number };
  };
  return summary.credits.used;
}

test("a model of perplexity costs its tokens and a fee per request, by the size of its search", async () => {
  vendor.reset();
  const message = { role: "assistant", content: "Hi" };
  vendor.script(
    json({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "sonar-pro",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    }),
  );
  const body = { model: "sonar-pro", messages: [{ role: "user", content: "Hello. ".repeat(50) }] };
  const tokens = (1000 * 3 + 100 * 15) / 1e6;
  expect(await spent("/v1/chat/completions", body)).toBeCloseTo(tokens + 0.006, 10);
  const sized = { ...body, web_search_options: { search_context_size: "high" } };
  expect(await spent("/v1/chat/completions", sized)).toBeCloseTo(tokens + 0.014, 10);
});

for (const [name, , models, embedding] of vendors) {
  test(`models of ${name} answer by name with nothing but its key, at the list price`, async () => {
    for (const [model, input, output] of models) {
      vendor.reset();
      vendor.script(({ body }) =>
        json({
          id: "chatcmpl-1",
          object: "chat.completion",
          created: 1,
          model: String(body["model"]),
          choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
          usage,
        }),
      );
      const cost = await spent("/v1/chat/completions", {
        model,
        max_tokens: 200,
        messages: [{ role: "user", content: "Hello. ".repeat(50) }],
      });
      expect([model, cost]).toEqual([model, expect.closeTo((1000 * input + 100 * output) / 1e6, 10)]);
      const [asked] = vendor.requests;
      expect(asked?.headers["authorization"]).toBe(`Bearer key-of-${name}`);
      expect(asked?.path).toBe(
        name === "cohere" ? "/cohere/compatibility/v1/chat/completions" : `/${name}/v1/chat/completions`,
      );
      // The vendor gets its own id, whatever the client called it by.
      expect(model.endsWith(String(asked?.body["model"]))).toBe(true);
    }
    if (embedding === undefined) return;
    const [model, input] = embedding;
    vendor.reset();
    vendor.script(
      json({
        object: "list",
        model,
        data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25] }],
        usage: { prompt_tokens: 1000, total_tokens: 1000 },
      }),
    );
    const cost = await spent("/v1/embeddings", { model, input: "Hello. ".repeat(500) });
    expect([model, cost]).toEqual([model, expect.closeTo((1000 * input) / 1e6, 10)]);
  });
}
