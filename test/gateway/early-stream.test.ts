import { describe, expect, test } from "bun:test";
import { delayed, openAiError, silence, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { dataOf, readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, streamEvents, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

const head = "[server]\nheartbeat = 0.2\n";
const said = { text: "Sluices keep the canal navigable." };
const usages = {
  chat: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
  responses: { input_tokens: 9, output_tokens: 5, total_tokens: 14 },
  messages: { input_tokens: 9, output_tokens: 5 },
};
/** Some heartbeats after the head. */
const slowMs = 700;

const stream = (dialect: BodyDialectName) =>
  sse(streamEvents(dialect, { ...said, usage: usages[dialect], firstUsage: usages[dialect] }).join(""));

/** `first` is asked before `second`. */
const two = `
[[models]]
id = "two"
max_output_tokens = 1024
price = { input = 1.0, output = 2.0 }
[[models.deployments]]
provider = "local"
upstream_model = "first"
priority = 1
[[models.deployments]]
provider = "openai"
upstream_model = "second"
priority = 2
`;

function ask(
  world: World,
  caller: Caller,
  model: string,
  dialect: BodyDialectName,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const more = { stream: true, ...(dialect === "messages" ? { max_tokens: 100 } : {}) };
  return world.ask(caller, { path: paths[dialect], body: hello(dialect, model, more), headers });
}

/** Comments alone: before its first event, a stream has no other heartbeat. */
function heartbeatsIn(text: string): number {
  return text.split("\n\n").filter((frame) => frame.startsWith(":")).length;
}

describe.each([
  ["chat", "gpt-test", "chat"],
  ["responses", "gpt-test", "responses"],
  ["messages", "claude-test", "messages"],
  ["messages", "local-test", "chat"],
  ["responses", "local-test", "chat"],
] as const)("%s toward %s", (dialect, model, spoken) => {
  test("a stream begins after the heartbeat's silence, and its provider's answer follows", async () => {
    await using world = await World.start({ head });
    const caller = await world.creditCaller();
    world.provider.script(delayed(stream(spoken), slowMs));
    const startedMs = performance.now();
    const response = await ask(world, caller, model, dialect);
    expect(performance.now() - startedMs).toBeLessThan(slowMs - 100);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    const { text, failure } = await readStream(response);
    expect(failure).toBeNull();
    expect(heartbeatsIn(text)).toBeGreaterThanOrEqual(2);
    expect(text).toContain("navigable.");
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed", basis: "measured" }]);
    expect(world.observed).toMatchObject([{ status: 200, outcome: "completed" }]);
    expect(world.observed[0]?.firstByteMs).toBeGreaterThanOrEqual(slowMs - 50);
  });

  test("a failure after that is the format's error event, costs nothing, and counts as failed", async () => {
    await using world = await World.start({ head });
    const caller = await world.creditCaller();
    world.provider.script(delayed(openAiError(503, "Loading model"), slowMs));
    const response = await ask(world, caller, model, dialect);
    expect(response.status).toBe(200);
    const read = await readStream(response);
    expect(read.failure).toBeNull();
    const [event, ...others] = dataOf<{ error?: object; response?: { error: object } }>(read);
    expect(others).toEqual([]);
    expect(event?.error ?? event?.response?.error).toMatchObject({
      message: expect.stringMatching(/loading the model/),
    });
    expect(await world.chargesOf(caller)).toEqual([]);
    expect(world.observed).toMatchObject([{ status: 200, outcome: "failed", charged: 0 }]);
  });
});

test("a failure within the heartbeat's silence has its status", async () => {
  await using world = await World.start({ head });
  const caller = await world.creditCaller();
  world.provider.script(openAiError(400, "unknown field"));
  expect((await ask(world, caller, "gpt-test", "chat")).status).toBe(400);
});

test("without heartbeats, the status waits for the provider however long that takes", async () => {
  await using world = await World.start({ head: "[server]\nheartbeat = 0\n" });
  const caller = await world.creditCaller();
  world.provider.script(delayed(openAiError(400, "unknown field"), slowMs));
  expect((await ask(world, caller, "gpt-test", "chat")).status).toBe(400);
});

test("a non-streaming request waits for its status", async () => {
  await using world = await World.start({ head });
  const caller = await world.creditCaller();
  world.provider.script(delayed(openAiError(400, "unknown field"), slowMs));
  const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test") });
  expect(response.status).toBe(400);
});

test("failover goes on after the head, and a later provider answers the same response", async () => {
  await using world = await World.start({ head, tail: two });
  const caller = await world.creditCaller();
  world.provider.script(({ path }) =>
    path.startsWith("/local") ? delayed(openAiError(500, "out of memory"), slowMs) : stream("chat"),
  );
  const { text } = await readStream(await ask(world, caller, "two", "chat"));
  expect(text).toContain("navigable.");
  expect(heartbeatsIn(text)).toBeGreaterThanOrEqual(2);
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed" }]);
});

test("a provider that answers in one piece continues the response as events", async () => {
  await using world = await World.start({ head });
  const caller = await world.creditCaller();
  const whole = wholeAnswer("chat", { ...said, usage: usages.chat });
  world.provider.script(delayed(whole, slowMs));
  const read = await readStream(await ask(world, caller, "gpt-test", "chat"));
  expect(read.text).toContain("navigable.");
  expect(read.text.trimEnd()).toEndWith("data: [DONE]");
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed" }]);
});

test("a client that leaves while it waits ends the call, and what it held is free", async () => {
  await using world = await World.start({ head });
  const caller = await world.creditCaller();
  world.provider.script(silence());
  const reader = new StreamReader(await ask(world, caller, "gpt-test", "chat"));
  await reader.nextChunk();
  await reader.cancel();
  await waitFor(() => world.provider.aborted.length === 1, "the call to be cancelled");
  await world.settled();
  expect(world.observed).toMatchObject([{ status: 200, outcome: "cancelled" }]);
  expect(await world.chargesOf(caller)).toEqual([]);
});

test("a shutdown ends a stream that waits with the format's error event", async () => {
  await using world = await World.start({ head: `${head}shutdown_grace = "100ms"\n` });
  const caller = await world.creditCaller();
  world.provider.script(silence());
  const reader = new StreamReader(await ask(world, caller, "gpt-test", "chat"));
  await reader.nextChunk();
  const stopping = world.running.stop();
  const event = await reader.until('"error"');
  expect(JSON.parse(event.data)).toMatchObject({ error: { code: "service_unavailable" } });
  await stopping;
});

test("a retry with the idempotency key gets the answer again, without heartbeats, and after a failure runs again", async () => {
  await using world = await World.start({ head });
  const caller = await world.creditCaller();
  const key = { "idempotency-key": "once" };
  world.provider.script([
    delayed(openAiError(400, "unknown field"), slowMs),
    delayed(stream("chat"), slowMs),
  ]);
  const failed = await readStream(await ask(world, caller, "gpt-test", "chat", key));
  expect(failed.text).toContain("unknown field");
  const first = await readStream(await ask(world, caller, "gpt-test", "chat", key));
  expect(first.text).toContain("navigable.");
  const again = await ask(world, caller, "gpt-test", "chat", key);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  const replayed = await again.text();
  expect(heartbeatsIn(replayed)).toBe(0);
  expect(first.text).toEndWith(replayed);
  expect(await world.chargesOf(caller)).toHaveLength(1);
});

test("what was dropped is in the head, and in a comment if a later attempt drops more", async () => {
  const tail = two.replace('provider = "openai"', 'provider = "anthropic"');
  await using world = await World.start({ head, tail });
  const caller = await world.creditCaller();
  world.provider.script(({ path }) =>
    path.startsWith("/local") ? delayed(openAiError(500, "out of memory"), slowMs) : stream("messages"),
  );
  const body = hello("chat", "two", { stream: true, logit_bias: { "5": 1 } });
  const response = await world.ask(caller, { path: paths.chat, body });
  expect(response.headers.get("x-sluice-dropped")).toBeNull();
  const { text } = await readStream(response);
  expect(text).toContain(": x-sluice-dropped: logit_bias\n\n");
});
