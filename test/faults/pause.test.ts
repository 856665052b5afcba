import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { type Answer, heldBefore, silence, sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

/** Every deadline of the gateway, but for those that are fixed: a complete stream without usage is given 5 s too. */
const limitSeconds = 5;
/** Longer than the deadlines, however little of them was over when the pause began. */
const pauseMs = limitSeconds * 1000 + 500;

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: config() });
  key = await sluice.createKey();
}, 120_000);
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

function config(): string {
  const limit = limitSeconds;
  const head = `[server]\nheartbeat = ${limit}\nclient_idle_timeout = ${limit}`;
  const timeouts = `timeouts = { first_byte = ${limit}, stream_first_byte = ${limit}, idle = ${limit} }`;
  const tail = `
[[models]]
id = "brief-test"
provider = "openai"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }
timeouts = { total = ${limit} }`;
  return configFor({ url: provider.url, head, provider: timeouts, tail });
}

function bodyOf(what: string, { model = "gpt-test", stream = false } = {}): object {
  return { model, stream, messages: [{ role: "user", content: what }] };
}

function ask(what: string, options: { model?: string; stream?: boolean } = {}): Promise<Response> {
  return sluice.request("/v1/chat/completions", { key, body: bodyOf(what, options) });
}

/** The answer by what the request says; what comes after `until` comes during the pause. */
function answersAfter(until: Promise<void>): (request: SeenRequest) => Answer {
  const whole = answerFrom("chat/text.json");
  const stream = answerFrom("chat/text.sse");
  const text = fixture("chat/text.json");
  const answers: Record<string, Answer> = {
    whole: { ...whole, before: [{ until }] },
    "half of a whole": {
      ...whole,
      framing: "chunked",
      steps: [{ write: text.slice(0, 50) }, { until }, { write: text.slice(50) }],
    },
    "unbegun stream": { ...stream, before: [{ until }] },
    "half of a stream": heldBefore(stream, '" keep"', until),
    "stream without its usage": heldBefore(stream, '"usage":{', until),
    "stream that begins with an error": {
      ...sse(""),
      steps: [{ until }, { write: 'data: {"error":{"message":"no","type":"server_error"}}\n\n' }],
    },
    "long stream": longStream(),
    silence: silence(),
  };
  return ({ body }) => {
    const { messages } = body as { messages: { content: string }[] };
    return answers[messages[0]?.content ?? ""] ?? silence();
  };
}

/** More than all buffers between the provider and a client that does not read. */
function longStream(): Answer {
  const events = fixture("chat/text.sse").split(/(?<=\n\n)/);
  const [first = "", second = ""] = events;
  const padded = second.replace('"Sluices"', JSON.stringify("x".repeat(16_000)));
  const steps = Array.from({ length: 1500 }, () => ({ write: padded }));
  return { ...sse(""), steps: [{ write: first }, ...steps, { write: events.slice(2).join("") }] };
}

/** Requests a stream, and reads none of it before the test lets it. */
class IdleReader {
  readonly #socket: Socket;
  #end = "";

  constructor(body: string) {
    const { hostname, port } = new URL(sluice.url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("data", (piece) => {
      this.#end = (this.#end + piece.toString("latin1")).slice(-200);
    });
    this.#socket.pause();
    this.#socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.key}\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  /** Reads from now on; resolves with the last bytes when they have come, or the connection is closed. */
  async read(): Promise<string> {
    const closed = new Promise((resolve) => this.#socket.once("close", resolve));
    const ended = waitFor(() => this.#end.includes("[DONE]"), "the end of the stream").catch(() => {});
    this.#socket.resume();
    await Promise.race([closed, ended]);
    this.#socket.destroy();
    return this.#end;
  }
}

test("after a pause that is longer than every deadline, what has arrived meanwhile is delivered and charged, and what is silent fails", async () => {
  const gate = Promise.withResolvers<void>();
  provider.script(answersAfter(gate.promise));
  const idle = new IdleReader(JSON.stringify(bodyOf("long stream", { stream: true })));
  await waitFor(() => provider.requests.length === 1, "the long stream to begin");
  const silent = ask("silence");
  const whole = ask("whole");
  const halfWhole = ask("half of a whole", { model: "brief-test" });
  const unbegun = ask("unbegun stream", { stream: true });
  const erring = ask("stream that begins with an error", { stream: true });
  const halfStream = new StreamReader(await ask("half of a stream", { stream: true }));
  const unreported = new StreamReader(await ask("stream without its usage", { stream: true }));
  await halfStream.until("Sluices");
  await unreported.until('"finish_reason":"stop"');
  await waitFor(() => provider.requests.length === 8, "the provider to be asked");

  process.kill(sluice.pid, "SIGSTOP");
  gate.resolve();
  const idleRead = idle.read();
  await Bun.sleep(pauseMs);
  expect(provider.aborted).toEqual([]);
  process.kill(sluice.pid, "SIGCONT");

  const statuses = await Promise.all([silent, whole, halfWhole, erring].map(async (it) => (await it).status));
  expect(statuses).toEqual([502, 200, 200, 502]);
  for (const reader of [halfStream, unreported]) while ((await reader.nextChunk()) !== null);
  const streams = [
    (await readStream(await unbegun)).text,
    halfStream.result().text,
    unreported.result().text,
  ];
  for (const text of streams)
    expect(text).toBe(fixture("chat/text.sse").replace(/data: [^\n]*"choices":\[\][^\n]*\n\n/, ""));
  expect(await idleRead).toContain("data: [DONE]");

  const { credits } = (await (await sluice.request("/v1/usage", { key })).json()) as {
    credits: { used: number; reserved: number };
  };
  // Six answers, all by the provider's own figures.
  expect(credits.used).toBeCloseTo(6 * 0.000039, 9);
  expect(credits.reserved).toBe(0);
  expect(provider.requests).toHaveLength(8);
}, 120_000);
