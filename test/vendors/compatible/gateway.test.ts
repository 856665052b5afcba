import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, bytesOf, json, sse, text } from "../../support/answers.ts";
import { answerFrom, fixture, fixtureText } from "../../support/fixtures.ts";
import { startProvider } from "../../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { readStream } from "../../support/sse.ts";
import { waitFor } from "../../support/wait.ts";

const provider = startProvider();
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  sluice = await startSluice({
    config: `
[providers.it]
kind = "openai-compatible"
base_url = "${provider.url}/v1"

[providers.strict]
kind = "openai-compatible"
base_url = "${provider.url}/v1"
quirks = ["no_stream_options"]

[[models]]
id = "strict"
provider = "strict"
free = true

[[models]]
id = "m"
provider = "it"
price = { input = 1.0, output = 2.0 }
max_output_tokens = 1000
`,
  });
  key = await sluice.createKey({ credit: 10 });
  await waitFor(async () => (await sluice.request("/v1/usage", { key })).status === 200, "the key");
});

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const messages = [{ role: "user", content: "Hello" }];

function ask(client: "chat" | "messages", answer: Answer, stream: boolean): Promise<Response> {
  provider.script(answer);
  const path = client === "chat" ? "/v1/chat/completions" : "/v1/messages";
  return sluice.request(path, { key, body: { model: "m", messages, max_tokens: 100, stream } });
}

/** In nano-credits. */
async function used(): Promise<number> {
  const answer = (await (await sluice.request("/v1/usage", { key })).json()) as {
    credits: { used: number };
  };
  return Math.round(answer.credits.used * 1e9);
}

const streamText = fixture("chat/text.sse");
const withoutDone = streamText.replace("data: [DONE]\n\n", "");

describe("servers with OpenAI's API", () => {
  for (const client of ["chat", "messages"] as const) {
    const end = client === "chat" ? "data: [DONE]\n\n" : '{"type":"message_stop"}\n\n';

    test(`Q13: ${client} clients get the end of a stream that a server keeps open after its answer`, async () => {
      const kept = { ...sse(withoutDone), steps: [{ write: withoutDone }, { stall: true }] } as const;
      const read = await readStream(await ask(client, kept, true));
      expect(read.text).toEndWith(end);
      expect(read.text).not.toContain("error");
    });

    for (const type of ["application/json", "text/plain; charset=utf-8"]) {
      test(`Q20: ${client} clients get a stream that is sent as ${type}`, async () => {
        const named = { ...sse(streamText), headers: { "content-type": type } };
        const read = await readStream(await ask(client, named, true));
        expect(read.text).toEndWith(end);
      });
    }

    test(`Q19: ${client} clients get 502 for a code and a message in place of an answer`, async () => {
      for (const body of [
        { code: 40001, msg: "canary-account is not allowed" },
        { choices: null, base_resp: { status_code: 1004, status_msg: "canary-account" } },
      ]) {
        const refused = await ask(client, json(body), false);
        expect(refused.status).toBe(502);
      }
      const streamed = await ask(client, sse('data: {"code":500,"msg":"no"}\n\n'), true);
      expect(streamed.status).toBe(502);
    });

    test(`T17: ${client} clients get a whole answer to a stream, and a stream as a whole answer`, async () => {
      const streamed = await readStream(await ask(client, answerFrom("chat/text.json"), true));
      expect(streamed.text).toEndWith(end);
      const whole = await ask(client, answerFrom("chat/text.sse"), false);
      expect(await whole.text()).toContain(fixtureText);
    });
  }

  test("something that is neither is not taken for a stream (Q20)", async () => {
    const refused = await ask("chat", text("<html>canary</html>", "text/html"), true);
    expect(refused.status).toBe(502);
    expect(await refused.text()).not.toContain("canary");
    const slow = {
      ...text("", "text/plain"),
      steps: [...bytesOf(sse(streamText)).slice(0, 8)].map((byte) => ({ write: new Uint8Array([byte]) })),
    };
    const pieces: Answer = {
      ...slow,
      framing: "chunked",
      steps: [...slow.steps, { write: streamText.slice(8) }],
    };
    expect((await readStream(await ask("chat", pieces, true))).text).toEndWith("data: [DONE]\n\n");
  });

  test("a client's stream_options do not reach a server that refuses them (Q04)", async () => {
    provider.script(sse(streamText));
    const body = { model: "strict", messages, stream: true, stream_options: { include_usage: true } };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    expect((await readStream(response)).text).toBe(streamText);
    expect(provider.requests.at(-1)?.body).toEqual({ model: "strict", messages, stream: true });
  });

  test("xAI's reasoning is charged, streamed and whole (Q01)", async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 150,
      completion_tokens_details: { reasoning_tokens: 30 },
    };
    const whole = {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage,
    };
    const chunk = {
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }],
      usage,
    };
    for (const client of ["chat", "messages"] as const) {
      for (const stream of [false, true]) {
        const before = await used();
        await (
          await ask(
            client,
            stream ? sse(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`) : json(whole),
            stream,
          )
        ).text();
        // 100 tokens of input at 1 and 50 of output at 2 USD per million, in nano-credits.
        expect((await used()) - before).toBe(100_000 + 100_000);
      }
    }
  });

  for (const stream of [false, true]) {
    test(`Q06: an answer that ends as failed is charged by its figures (streamed: ${stream})`, async () => {
      const said = { role: "assistant", content: "" };
      const choice = { index: 0, finish_reason: "error", [stream ? "delta" : "message"]: said };
      const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
      const failed = JSON.stringify({ id: "c", created: 1, model: "m", choices: [choice], usage });
      const before = await used();
      const answer = stream ? sse(`data: ${failed}\n\ndata: [DONE]\n\n`) : json(JSON.parse(failed));
      const text = await (await ask("messages", answer, stream)).text();
      expect(text).toContain("The provider reported a failed response.");
      expect(text).not.toContain("message_stop");
      expect((await used()) - before).toBe(100_000 + 100_000);
    });
  }

  for (const client of ["chat", "messages"] as const) {
    test(`a failure as the only chunk is told to ${client} clients with a status, and not charged without figures`, async () => {
      const chunk = { choices: [{ index: 0, delta: {}, finish_reason: "insufficient_system_resource" }] };
      const before = [await used(), provider.requests.length] as const;
      const response = await ask(client, sse(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`), true);
      expect(response.status).toBe(502);
      expect(await used()).toBe(before[0]);
      expect(provider.requests.length).toBe(before[1] + 2);
    });

    test(`one with figures is charged once to ${client} clients, and nobody is asked again`, async () => {
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
      const chunk = { choices: [{ index: 0, delta: { content: "" }, finish_reason: "abort" }], usage };
      const before = [await used(), provider.requests.length] as const;
      const response = await ask(client, sse(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`), true);
      expect(response.status).toBe(502);
      expect(await used()).toBe(before[0] + 20_000);
      expect(provider.requests.length).toBe(before[1] + 1);
    });

    for (const stream of [false, true]) {
      test(`an error without any value is none (${client}, streamed: ${stream})`, async () => {
        const error = { code: "", message: "", type: "", param: null };
        const said = { role: "assistant", content: "Hi" };
        const body = { choices: [{ index: 0, message: said, delta: said, finish_reason: "stop" }], error };
        const answer = stream ? sse(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`) : json(body);
        const response = await ask(client, answer, stream);
        expect(response.status).toBe(200);
        expect(await response.text()).toContain("Hi");
      });
    }
  }

  test("a filtered answer without a message is a refusal, and charged", async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const choice = { index: 0, finish_reason: "content_filter", content_filter_results: {} };
    for (const client of ["messages", "chat"] as const) {
      const before = await used();
      const response = await ask(client, json({ choices: [choice], usage }), false);
      expect(response.status).toBe(200);
      expect(await response.text()).toMatch(/refusal|content_filter/);
      expect(await used()).toBe(before + 20_000);
    }
  });
});
