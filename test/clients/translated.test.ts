import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { configFor } from "../support/config.ts";
import { answerFrom, fixtureText } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/**
 * Every client on every provider: the official packages' strict stream helpers accept what the gateway
 * writes, whichever dialect the provider spoke.
 */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
  key = await sluice.createKey();
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
});

afterEach(() => provider.reset());

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const openAi = () => new OpenAI({ baseURL: `${sluice.url}/v1`, apiKey: key.key, maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: sluice.url, apiKey: key.key, maxRetries: 0 });

/** A provider that answers in the dialect it is asked in: `chat`, `responses` or `messages`. */
const saying = (form: "text" | "tools") => (request: SeenRequest) => {
  const dialect = request.path.endsWith("/chat/completions")
    ? "chat"
    : request.path.endsWith("/responses")
      ? "responses"
      : "messages";
  return answerFrom(`${dialect}/${form}.${request.body["stream"] === true ? "sse" : "json"}`);
};

const messages = [{ role: "user" as const, content: "Hello" }];

for (const [model, spoken] of [
  ["gpt-test", "chat and responses"],
  ["claude-test", "messages"],
  ["local-test", "chat"],
] as const) {
  describe(`on a provider that speaks ${spoken}`, () => {
    test("chat completions are text, whole and streamed", async () => {
      provider.script(saying("text"));
      const whole = await openAi().chat.completions.create({ model, messages });
      const streamed = await openAi()
        .chat.completions.stream({ model, messages, stream_options: { include_usage: true } })
        .finalChatCompletion();
      for (const { choices, usage } of [whole, streamed]) {
        expect(choices[0]?.message.content).toBe(fixtureText);
        expect(choices[0]?.finish_reason).toBe("stop");
        expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
        expect(usage?.completion_tokens).toBeGreaterThan(0);
      }
    });

    test("chat completions call tools, whole and streamed", async () => {
      provider.script(saying("tools"));
      const whole = await openAi().chat.completions.create({ model, messages });
      const streamed = await openAi().chat.completions.stream({ model, messages }).finalChatCompletion();
      for (const { choices } of [whole, streamed]) {
        const [call] = choices[0]?.message.tool_calls ?? [];
        if (call?.type !== "function") throw new Error("there is no function call");
        expect(call.function.name).toBe("get_weather");
        expect(JSON.parse(call.function.arguments)).toEqual({ city: "Zürich" });
        expect(choices[0]?.finish_reason).toBe("tool_calls");
      }
    });

    test("responses are text, whole and streamed", async () => {
      provider.script(saying("text"));
      const whole = await openAi().responses.create({ model, input: "Hello" });
      const streamed = await openAi().responses.stream({ model, input: "Hello" }).finalResponse();
      for (const { output_text, status, usage } of [whole, streamed]) {
        expect(output_text).toBe(fixtureText);
        expect(status).toBe("completed");
        expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
      }
    });

    test("responses call tools, whole and streamed", async () => {
      provider.script(saying("tools"));
      const whole = await openAi().responses.create({ model, input: "Hello" });
      const streamed = await openAi().responses.stream({ model, input: "Hello" }).finalResponse();
      for (const { output } of [whole, streamed]) {
        const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
        expect(calls[0]?.name).toBe("get_weather");
        expect(JSON.parse(calls[0]?.arguments ?? "")).toEqual({ city: "Zürich" });
      }
    });

    test("messages are text, whole and streamed", async () => {
      provider.script(saying("text"));
      const ask = { model, messages, max_tokens: 50 };
      const whole = await anthropic().messages.create(ask);
      const streamed = await anthropic().messages.stream(ask).finalMessage();
      for (const { content, stop_reason, usage } of [whole, streamed]) {
        expect(content.map((block) => block.type === "text" && block.text)).toEqual([fixtureText]);
        expect(stop_reason).toBe("end_turn");
        expect(usage.output_tokens).toBeGreaterThan(0);
      }
    });

    test("messages call tools, whole and streamed", async () => {
      provider.script(saying("tools"));
      const ask = { model, messages, max_tokens: 50 };
      const whole = await anthropic().messages.create(ask);
      const streamed = await anthropic().messages.stream(ask).finalMessage();
      for (const { content, stop_reason } of [whole, streamed]) {
        const call = content.find((block) => block.type === "tool_use");
        expect(call).toMatchObject({ name: "get_weather", input: { city: "Zürich" } });
        expect(stop_reason).toBe("tool_use");
      }
    });
  });
}
