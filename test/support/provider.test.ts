import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  compressed,
  cutAfter,
  cutBefore,
  drip,
  hangUp,
  json,
  openAiError,
  redirect,
  silence,
  splitAt,
} from "./answers.ts";
import { answerFrom, fixture } from "./fixtures.ts";
import { type ScriptedProvider, startProvider } from "./provider.ts";
import { dataOf, readStream, StreamReader } from "./sse.ts";
import { waitFor } from "./wait.ts";

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

function post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(provider.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    redirect: "manual",
    ...init,
  });
}

test("answers well in every dialect when nothing is scripted, and records what it saw", async () => {
  for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages"]) {
    const whole = await post(path, { model: "m" }, { headers: { "X-Canary": "yes" } });
    expect(whole.headers.get("content-type")).toBe("application/json");
    expect(await whole.json()).toHaveProperty("id");
    const streamed = await readStream(await post(path, { stream: true }));
    expect(dataOf(streamed).length).toBeGreaterThan(5);
  }
  expect(provider.requests).toHaveLength(6);
  expect(provider.requests[0]).toMatchObject({
    method: "POST",
    path: "/v1/chat/completions",
    body: { model: "m" },
  });
  expect(provider.requests[0]?.headers["x-canary"]).toBe("yes");
  expect(provider.requests[0]?.abortedAtMs).toBeNull();
});

test("plays a list of answers in order and repeats the last", async () => {
  provider.script([openAiError(503, "busy"), json({ ok: true })]);
  const statuses = [];
  for (let turn = 0; turn < 3; turn += 1) statuses.push((await post("/", {})).status);
  expect(statuses).toEqual([503, 200, 200]);
});

test("sends a stream in the pieces that were asked for", async () => {
  provider.script(splitAt(answerFrom("messages/text.sse"), [10, 50, 51, 1000], 50));
  const read = await readStream(await post("/", {}));
  expect(read.text).toBe(fixture("messages/text.sse"));
  // A busy machine may read two of the five at once.
  expect(read.chunks.length).toBeGreaterThan(2);
  provider.script(drip(answerFrom("chat/text.sse"), 1));
  expect((await readStream(await post("/", {}))).text).toBe(fixture("chat/text.sse"));
});

test("cuts a stream: properly ended, or by a reset", async () => {
  provider.script(cutBefore(answerFrom("chat/text.sse"), "[DONE]"));
  const ended = await readStream(await post("/", {}));
  expect(ended.failure).toBeNull();
  expect(ended.text).not.toContain("[DONE]");
  provider.script(cutAfter(answerFrom("chat/text.sse"), 500, [{ sleepMs: 20 }, { reset: true }]));
  const broken = await readStream(await post("/", {}));
  expect(broken.failure).not.toBeNull();
  provider.script(hangUp());
  await expect(post("/", {})).rejects.toThrow();
});

test("notices a caller that leaves, and when", async () => {
  provider.script(cutAfter(answerFrom("chat/text.sse"), 500, [{ stall: true }]));
  const leaving = new AbortController();
  const stream = new StreamReader(await post("/", {}, { signal: leaving.signal }));
  await stream.nextChunk();
  expect(provider.openConnections).toBe(1);
  leaving.abort();
  await waitFor(() => provider.aborted.length === 1, "the abort to be seen");
  expect(provider.openConnections).toBe(0);
  provider.script(silence());
  await expect(post("/", {}, { signal: AbortSignal.timeout(30) })).rejects.toThrow();
  await waitFor(() => provider.aborted.length === 2, "the second abort to be seen");
});

test("redirects, compresses and reads chunked requests", async () => {
  provider.script([redirect("http://127.0.0.1:1/"), compressed(json({ ok: true }))]);
  expect((await post("/", {})).status).toBe(307);
  const packed = await post("/", {});
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(await packed.json()).toEqual({ ok: true });
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue('{"a":');
      await Bun.sleep(5);
      controller.enqueue("1}");
      controller.close();
    },
  });
  await fetch(provider.url, { method: "POST", body });
  expect(provider.requests.at(-1)?.body).toEqual({ a: 1 });
});
