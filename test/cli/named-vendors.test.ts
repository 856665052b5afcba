import { afterAll, describe, expect, test } from "bun:test";
import { catalogVendors } from "../../src/config/catalog/vendors.ts";
import { json, sse } from "../support/answers.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";

/** Every vendor's chat at a path of its own, in OpenAI's form, which all of them document. */
const server = startProvider(({ body }) => {
  const model = String(body["model"]);
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
  const head = { id: "c", created: 1, model };
  if (body["stream"] !== true)
    return json({
      ...{ ...head, object: "chat.completion", usage },
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    });
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const last = { ...head, object: "chat.completion.chunk", choices: [], usage };
  return sse(
    `${chunk({ role: "assistant", content: "Hi" }, null)}${chunk({}, "stop")}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`,
  );
});
afterAll(() => server.stop());

/** A model of each vendor with a list, and what 1,000 tokens of input and 100 of output cost there. */
const priced = {
  databricks: ["databricks-claude-sonnet-4-5", 0.004499992],
  vercel: ["openai/gpt-4o", 0.0035],
  cloudflare: ["@cf/meta/llama-3.3-70b-instruct-fp8-fast", 0.0005183],
  snowflake: ["claude-sonnet-4-5", 0.0045],
  sambanova: ["Meta-Llama-3.3-70B-Instruct", 0.00072],
  baseten: ["zai-org/GLM-5.2", 0.00184],
  novita: ["deepseek/deepseek-v3.1", 0.00037],
  scaleway: ["meta/llama-3.3-70b-instruct", 0.00099],
  ovhcloud: ["Meta-Llama-3_3-70B-Instruct", 0.000737],
  nscale: ["meta-llama/Llama-3.3-70B-Instruct", 0.00022],
} as const;

/** Names of models at vendors without a public price per token. Scaleway has the first one too. */
const unpriced = {
  nvidia: "meta/llama-3.3-70b-instruct",
  "ollama-cloud": "gpt-oss:120b",
  huggingface: "openai/gpt-oss-120b:groq",
  volcengine: "doubao-seed-1-8",
  github: "openai/gpt-4.1",
} as const;

const names = [...Object.keys(priced), ...Object.keys(unpriced)];
const env = Object.fromEntries(
  names.flatMap((name) => {
    const { keys: [key = ""] = [], baseUrls: [address = ""] = [] } = catalogVendors[name] ?? {};
    return [
      [key, `key-of-${name}`],
      [address, `${server.url}/${name}/v1`],
    ];
  }),
);

describe("serve with the keys of vendors alone", () => {
  test("prices the first request to each with a list, and sends each its own key", async () => {
    await using sluice = await Sluice.start({ env });
    await sluice.told("listening on");
    const key = await sluice.createKey({ credit: 100 });
    const used = async () => {
      const summary = (await (await sluice.request("/v1/usage", { key })).json()) as {
        credits: { used: number };
      };
      return summary.credits.used;
    };
    let before = 0;
    for (const [name, [model, cost]] of Object.entries(priced))
      for (const stream of [false, true]) {
        const messages = [{ role: "user", content: "Hello. ".repeat(100) }];
        const body = { model: `${name}/${model}`, messages, stream, max_tokens: 200 };
        const response = await sluice.request("/v1/chat/completions", { key, body });
        expect([name, response.status]).toEqual([name, 200]);
        await response.text();
        const after = await used();
        expect([name, after - before]).toEqual([name, expect.closeTo(cost, 8)]);
        before = after;
        const seen = server.requests.at(-1);
        expect(seen?.path).toBe(`/${name}/v1/chat/completions`);
        expect(seen?.headers["authorization"]).toBe(`Bearer key-of-${name}`);
        expect(seen?.body["model"]).toBe(model);
      }
    await sluice.cliJson("ledger", "audit");
  }, 60_000);

  test("serves vendors without a list to keys with a budget of tokens, and rejects others", async () => {
    await using sluice = await Sluice.start({ env });
    await sluice.told("listening on");
    expect(sluice.output).toContain("unknown prices: only token-budget keys can use it");
    expect(sluice.output).not.toContain("no model of the catalog");
    const budget = await sluice.createKey({ mode: "token_budget" });
    const credit = await sluice.createKey({ credit: 100 });
    for (const [name, model] of Object.entries(unpriced)) {
      const body = { model: `${name}/${model}`, messages: [{ role: "user", content: "Hello." }] };
      const response = await sluice.request("/v1/chat/completions", { key: budget, body });
      expect([name, response.status]).toEqual([name, 200]);
      await response.text();
      const seen = server.requests.at(-1);
      expect(seen?.path).toBe(`/${name}/v1/chat/completions`);
      expect(seen?.headers["authorization"]).toBe(`Bearer key-of-${name}`);
      expect(seen?.body["model"]).toBe(model);
      const calls = server.requests.length;
      const refused = await sluice.request("/v1/chat/completions", { key: credit, body });
      expect([name, refused.status]).toEqual([name, 403]);
      expect(server.requests.length).toBe(calls);
    }
  }, 60_000);
});
