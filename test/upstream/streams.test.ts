import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { GatewayError } from "../../src/base/errors.ts";
import type { OpenedCall } from "../../src/upstream/upstream.ts";
import { type Answer, cutAfter, drip, json, sse } from "../support/answers.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { setUp } from "./fixtures.ts";

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

const chat = answerFrom("chat/text.sse");

async function readAll(opened: OpenedCall): Promise<string> {
  const pieces: Uint8Array[] = [];
  for (let piece = await opened.read(); piece !== null; piece = await opened.read()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** Reads until it fails, and says how. */
async function failureOf(opened: OpenedCall): Promise<GatewayError> {
  try {
    while ((await opened.read()) !== null);
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error("the stream ended well");
}

describe("a stream", () => {
  test("is read byte for byte, however it is cut", async () => {
    const text = fixture("messages/text.sse");
    for (const size of [1, 7, 64, 100_000]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
      provider.script({ ...sse(""), steps: pieces.map((write) => ({ write })) });
      const { upstream, plan } = setUp([{ url: provider.url }]);
      const opened = await upstream.open(plan({ stream: true, clientDialect: "messages" }));
      expect(opened.streaming).toBe(true);
      expect(await readAll(opened)).toBe(text);
      opened.finished("completed");
    }
  });

  test("that starts with a frame in many pieces is still looked at for an error", async () => {
    const steps = [...'data: {"error":{"message":"sorry"}}\n\n'].flatMap((write) => [
      { write },
      { sleepMs: 1 },
    ]);
    provider.script({ ...sse(""), steps });
    const { upstream, plan } = setUp([{ url: provider.url }]);
    await expect(upstream.open(plan({ stream: true }))).rejects.toMatchObject({
      code: "upstream_error",
      message: "sorry",
    });
  });

  test("that says nothing is handed over after the heartbeat interval, and goes on when it speaks", async () => {
    const speak = Promise.withResolvers<void>();
    provider.script({ ...chat, steps: [{ write: ": wait\n\n" }, { until: speak.promise }, ...chat.steps] });
    const { upstream, plan } = setUp([{ url: provider.url }], { heartbeatMs: 40 });
    const opened = await upstream.open(plan({ stream: true }));
    speak.resolve();
    expect(await readAll(opened)).toBe(`: wait\n\n${fixture("chat/text.sse")}`);
    opened.finished("completed");
  });

  test("that falls silent fails by its gap, in the words of the dialect", async () => {
    provider.script(cutAfter(chat, 800, [{ stall: true }]));
    const { upstream, plan } = setUp([{ url: provider.url, timeouts: { idleMs: 50 } }]);
    const told = async (clientDialect: "chat" | "messages") =>
      (await failureOf(await upstream.open(plan({ stream: true, clientDialect })))).code;
    expect(await told("chat")).toBe("upstream_error");
    expect(await told("messages")).toBe("upstream_timeout");
    await waitFor(() => provider.openConnections === 0, "the connections to be closed");
  });

  test("that drips for ever fails at the exchange's deadline", async () => {
    const endless: Answer = {
      ...chat,
      steps: Array.from({ length: 3000 }, () => [{ write: "data: {}\n\n" }, { sleepMs: 5 }]).flat(),
    };
    provider.script(endless);
    const { upstream, plan } = setUp([{ url: provider.url }]);
    const opened = await upstream.open(plan({ stream: true, deadlineMs: performance.now() + 150 }));
    expect((await failureOf(opened)).message).toContain("too long");
    await waitFor(() => provider.openConnections === 0, "the connection to be closed");
  });

  test("may rest as long as its reader likes: the gap counts only while somebody waits", async () => {
    provider.script(chat);
    const timeouts = { idleMs: 200, streamFirstByteMs: 300 };
    const { upstream, plan } = setUp([{ url: provider.url, timeouts }], { heartbeatMs: 30 });
    const opened = await upstream.open(plan({ stream: true }));
    await Bun.sleep(600);
    expect(await readAll(opened)).toBe(fixture("chat/text.sse"));
  });

  test("that is reset fails, and is no proper end", async () => {
    provider.script(cutAfter(chat, 800, [{ sleepMs: 20 }, { reset: true }]));
    const { upstream, plan } = setUp([{ url: provider.url }]);
    expect(await failureOf(await upstream.open(plan({ stream: true })))).toMatchObject({
      code: "upstream_error",
    });
  });

  test("ends upstream at once when the client leaves, and at abort", async () => {
    provider.script(cutAfter(chat, 800, [{ stall: true }]));
    const { upstream, plan } = setUp([{ url: provider.url }]);
    const leaving = new AbortController();
    const opened = await upstream.open(plan({ stream: true, signal: leaving.signal }));
    await opened.read();
    const reading = failureOf(opened);
    leaving.abort();
    expect((await reading).message).toContain("cancelled before");
    opened.finished("cancelled");
    const other = await upstream.open(plan({ stream: true }));
    other.abort();
    other.abort();
    await waitFor(() => provider.aborted.length === 2, "both calls to be aborted");
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, state: "closed", recentFailures: 0 });
  });

  test("whose client leaves before the headers is ended too", async () => {
    provider.script({ ...chat, before: [{ stall: true }] });
    const { upstream, plan } = setUp([{ url: provider.url }, { url: provider.url, priority: 2 }]);
    const leaving = new AbortController();
    const opening = upstream
      .open(plan({ stream: true, signal: leaving.signal }))
      .catch((error: Error) => error);
    await waitFor(() => provider.requests.length === 1, "the request");
    leaving.abort();
    expect(await opening).toBeInstanceOf(Error);
    await waitFor(() => provider.aborted.length === 1, "the call to be aborted");
    expect(provider.requests).toHaveLength(1);
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, recentFailures: 0 });
  });

  test("leaves a connection that serves again, also when its end was not read", async () => {
    provider.script(chat);
    const { upstream, plan } = setUp([{ url: provider.url }]);
    for (let turn = 0; turn < 5; turn += 1) {
      const opened = await upstream.open(plan({ stream: true }));
      await opened.read();
      opened.finished("completed");
      await waitFor(() => upstream.health()[0]?.inFlight === 0, "the stream to be drained");
    }
    expect(provider.requests).toHaveLength(5);
    expect(provider.aborted).toHaveLength(0);
    expect(provider.openConnections).toBe(1);
  });

  test("that goes on after its terminal event is not waited for", async () => {
    provider.script({ ...chat, steps: [...chat.steps, { stall: true }] });
    const { upstream, plan } = setUp([{ url: provider.url }]);
    const opened = await upstream.open(plan({ stream: true }));
    await opened.read();
    opened.finished("completed");
    await waitFor(() => provider.openConnections === 0, "the connection to be given up");
  });

  test("that was not asked for is let through and told", async () => {
    provider.script(chat);
    const { upstream, plan } = setUp([{ url: provider.url }]);
    const streamed = await upstream.open(plan({ stream: false }));
    expect(streamed.streaming).toBe(true);
    expect(await readAll(streamed)).toBe(fixture("chat/text.sse"));
    provider.script(json({ id: "x" }));
    const whole = await upstream.open(plan({ stream: true }));
    expect(whole.streaming).toBe(false);
    expect(await readAll(whole)).toBe('{"id":"x"}');
  });

  test("of a slow provider arrives piece by piece", async () => {
    provider.script(drip(chat, 5));
    const { upstream, plan } = setUp([{ url: provider.url }]);
    const opened = await upstream.open(plan({ stream: true }));
    let pieces = 0;
    while ((await opened.read()) !== null) pieces += 1;
    expect(pieces).toBeGreaterThan(3);
  });
});

describe("a whole body", () => {
  test("is handed over unchanged, with the headers that may pass", async () => {
    const headers = { "openai-processing-ms": "12", "set-cookie": "canary", "openai-organization": "canary" };
    provider.script(json({ id: "x", error: null }, { headers }));
    const { upstream, plan } = setUp([{ url: provider.url }]);
    const opened = await upstream.open(plan());
    expect(opened.headers).toEqual({ "openai-processing-ms": "12" });
    expect(await readAll(opened)).toBe('{"id":"x","error":null}');
    expect(opened).toMatchObject({ attempts: 1, streaming: false });
    opened.finished("completed");
    opened.finished("failed");
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, recentCalls: 1, recentFailures: 0 });
  });
});
