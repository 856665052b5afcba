import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { json, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { dataOf, readStream, StreamReader } from "../support/sse.ts";
import { usageRecords } from "../support/usage.ts";
import { waitFor } from "../support/wait.ts";
import { pairsToTry, talker } from "./pairs.ts";
import { hello, paths, streamAnswer, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ head: "[server]\nheartbeat = 0.2\n", tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const text = "Sluices keep the canal navigable.";
const measured = [{ amount: -(100 * 1_000 + 20 * 2_000), basis: "measured", outcome: "completed" }] as const;
const properEnd: Readonly<Record<BodyDialectName, string>> = {
  chat: "data: [DONE]",
  responses: "event: response.completed",
  messages: "event: message_stop",
};

/** The text of a stream in any dialect, put together from its events. */
function textIn(stream: Awaited<ReturnType<typeof readStream>>, dialect: BodyDialectName): string {
  return dataOf<{
    choices?: { delta: { content?: string } }[];
    delta?: string | { text?: string };
    type?: string;
  }>(stream)
    .map((event) => {
      if (dialect === "chat") return event.choices?.[0]?.delta.content ?? "";
      if (dialect === "messages") return typeof event.delta === "object" ? (event.delta.text ?? "") : "";
      return event.type === "response.output_text.delta" ? event.delta : "";
    })
    .join("");
}

test("a provider that streams unasked and without end is cut off, and nothing is charged", async () => {
  const caller = await world.creditCaller();
  const delta = { choices: [{ index: 0, delta: { content: "a".repeat(1024 * 1024) } }] };
  const write = `data: ${JSON.stringify(delta)}\n\n`;
  const steps = Array.from({ length: 65 }, () => ({ write }));
  world.provider.script({ ...sse(""), steps: [...steps, { stall: true }] });
  const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test") });
  expect(response.status).toBe(502);
  expect(await response.text()).toContain("too large");
  expect(await world.chargesOf(caller)).toEqual([]);
  expect(world.provider.requests).toHaveLength(1);
});

describe.each(pairsToTry)("$client at $model, which speaks $provider", ({ client, model, provider }) => {
  const said = { text, usage: usageOf(provider, 100, 20) };

  test("a provider that ignores `stream` is streamed to the client, charged once, and replayed", async () => {
    const caller = await world.creditCaller();
    world.provider.script(wholeAnswer(provider, said));
    const ask = {
      path: paths[client],
      body: hello(client, model, { stream: true }),
      headers: { "idempotency-key": "streamed" },
    };
    const response = await world.ask(caller, ask);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    const stream = await readStream(response);
    expect(textIn(stream, client)).toBe(text);
    expect(stream.text).toContain(properEnd[client]);
    expect(await world.chargesOf(caller)).toEqual([...measured]);

    const replayed = await world.ask(caller, ask);
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(replayed.headers.get("content-type")).toStartWith("text/event-stream");
    expect(await replayed.text()).toBe(stream.text);
    expect(world.provider.requests).toHaveLength(1);
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("a provider that streams unasked is collected into one answer, charged once, and replayed", async () => {
    const caller = await world.creditCaller();
    world.provider.script(streamAnswer(provider, { ...said, firstUsage: usageOf(provider, 100, 1) }));
    const ask = {
      path: paths[client],
      body: hello(client, model),
      headers: { "idempotency-key": "collected" },
    };
    const response = await world.ask(caller, ask);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    const body = await response.text();
    expect(body).toContain(text);
    expect(await world.chargesOf(caller)).toEqual([...measured]);
    const replayed = await world.ask(caller, ask);
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(await replayed.text()).toBe(body);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("a provider that streams unasked and keeps the connection open has answered at its stream's end", async () => {
    const caller = await world.creditCaller();
    const whole = streamAnswer(provider, said);
    world.provider.script({ ...whole, steps: [...whole.steps, { stall: true }] });
    const response = await world.ask(caller, { path: paths[client], body: hello(client, model) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(text);
    expect(await world.chargesOf(caller)).toEqual([...measured]);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("a whole answer is replayed as it was, with its status and type", async () => {
    const caller = await world.creditCaller();
    world.provider.script(wholeAnswer(provider, said));
    const ask = { path: paths[client], body: hello(client, model), headers: { "idempotency-key": "whole" } };
    const first = await world.ask(caller, ask);
    const body = await first.text();
    const replayed = await world.ask(caller, ask);
    expect(replayed.status).toBe(200);
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(replayed.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(await replayed.text()).toBe(body);
    expect(world.provider.requests).toHaveLength(1);
    expect(await world.chargesOf(caller)).toEqual([...measured]);
  });

  test("the record of a call says its status and form, whichever way it ended", async () => {
    const caller = await world.creditCaller();
    const events = streamEvents(provider, { text });
    const begun = events.slice(0, events.findIndex((event) => event.includes(" keep")) + 1).join("");
    const endings = [
      wholeAnswer(provider, said),
      streamAnswer(provider, said),
      { ...sse(""), steps: [{ write: begun }, { reset: true as const }] },
    ];
    for (const [index, answer] of endings.entries()) {
      world.provider.script(answer);
      const body = hello(client, model, { stream: index > 0 });
      await readStream(await world.ask(caller, { path: paths[client], body }));
    }
    await world.settled();
    const records = await usageRecords(world.running.store, { keyId: caller.key.id });
    const facts = records.map(({ status, stream, outcome, route, attempts }) => ({
      status,
      stream,
      outcome,
      route,
      attempts,
    }));
    const usual = { status: 200, route: paths[client], attempts: 1 };
    expect(facts).toEqual([
      { ...usual, stream: true, outcome: "failed" },
      { ...usual, stream: true, outcome: "completed" },
      { ...usual, stream: false, outcome: "completed" },
    ]);
  });

  test("silence of the provider is filled with the client's own kind of heartbeat", async () => {
    const caller = await world.creditCaller();
    const events = streamEvents(provider, { text });
    const second = events.findIndex((event) => event.includes(" keep"));
    const resume = Promise.withResolvers<void>();
    const steps = [
      { write: events.slice(0, second + 1).join("") },
      { until: resume.promise },
      { write: events.slice(second + 1).join("") },
    ];
    world.provider.script({ ...sse(""), steps });
    const body = hello(client, model, { stream: true });
    const reader = new StreamReader(await world.ask(caller, { path: paths[client], body }));
    const heartbeat = {
      chat: ": keepalive",
      responses: "event: keepalive",
      messages: 'event: ping\ndata: {"type":"ping"}',
    };
    expect((await reader.until(heartbeat[client])).raw).toStartWith(heartbeat[client]);
    resume.resolve();
    while ((await reader.nextChunk()) !== null);
    const stream = reader.result();
    expect(stream.text).toContain(properEnd[client]);
    expect(textIn(stream, client)).toBe(text);
    await world.settled();
  });
});

describe("bytes behind the end of a stream", () => {
  const behind = ": a comment of the provider's\n\n";
  const passedThrough = [
    { client: "chat", model: "gpt-test", provider: "chat" },
    { client: "responses", model: "gpt-test", provider: "responses" },
    { client: "messages", model: "claude-test", provider: "messages" },
  ] as const;

  test.each(passedThrough)(
    "pass through to a client of $client, and into its replay",
    async ({ client, model, provider }) => {
      for (const [index, isSameChunk] of [true, false].entries()) {
        const whole = streamEvents(provider, { text, usage: usageOf(provider, 100, 20) }).join("");
        const steps = isSameChunk
          ? [{ write: whole + behind }]
          : [{ write: whole }, { sleepMs: 20 }, { write: behind }];
        for (const headers of [{ "idempotency-key": `behind-${index}` }, {}]) {
          const caller = await world.creditCaller();
          world.provider.script({ ...sse(""), steps });
          const asked = world.provider.requests.length;
          const ask = { path: paths[client], body: hello(client, model, { stream: true }), headers };
          const first = await readStream(await world.ask(caller, ask));
          expect(first.failure).toBeNull();
          expect(first.text).toEndWith(behind);
          expect(first.text.split(behind)).toHaveLength(2);
          expect(await world.chargesOf(caller)).toEqual([...measured]);
          if (!("idempotency-key" in headers)) continue;
          expect(await (await world.ask(caller, ask)).text()).toBe(first.text);
          expect(world.provider.requests.length - asked).toBe(1);
        }
      }
    },
  );

  test.each(passedThrough)(
    "do not reach a client of $client if they say anything",
    async ({ client, model, provider }) => {
      const whole = streamEvents(provider, { text, usage: usageOf(provider, 100, 20) }).join("");
      const more = streamEvents(provider, { text: "Free text." }).join("");
      const half = 'data: {"text":"Free te';
      for (const steps of [
        [{ write: whole + more + half }],
        [{ write: whole }, { sleepMs: 20 }, { write: more }, { sleepMs: 20 }, { write: `${half}xt."}\n\n` }],
        [{ write: `${whole}${half}` }, { sleepMs: 20 }, { write: `xt."}\n\ndata: Free text.\n\n` }],
      ]) {
        const caller = await world.creditCaller();
        world.provider.script({ ...sse(""), steps });
        const body = hello(client, model, { stream: true });
        const stream = await readStream(await world.ask(caller, { path: paths[client], body }));
        expect(stream.text).toContain(properEnd[client]);
        expect(stream.text).not.toContain("Free");
        expect(stream.text).not.toContain('xt."');
        expect(await world.chargesOf(caller)).toEqual([...measured]);
      }
    },
  );

  test.each([{ "idempotency-key": "endless" }, {}])("that never end are cut off (%j)", async (headers) => {
    const caller = await world.creditCaller();
    const whole = streamEvents("chat", { text, usage: usageOf("chat", 100, 20) }).join("");
    const endless = Array.from({ length: 2000 }, () => ({ write: behind.repeat(2000) }));
    world.provider.script({ ...sse(""), steps: [{ write: whole }, ...endless] });
    const body = hello("chat", "gpt-test", { stream: true });
    const stream = await readStream(await world.ask(caller, { path: paths.chat, body, headers }));
    expect(stream.failure).toBeNull();
    expect(stream.text).toContain(properEnd.chat);
    expect(stream.bytes.length).toBeLessThan(1024 * 1024);
    expect(await world.chargesOf(caller)).toEqual([...measured]);
    await waitFor(() => world.provider.requests.at(-1)?.abortedAtMs !== null, "the provider to be left");
  });

  test("are nothing to a client of another dialect", async () => {
    const caller = await world.creditCaller();
    const whole = streamEvents("messages", { text, usage: usageOf("messages", 100, 20) }).join("");
    world.provider.script({
      ...sse(""),
      steps: [{ write: whole + behind }, { sleepMs: 20 }, { write: behind }],
    });
    const body = hello("chat", "claude-test", { stream: true });
    const stream = await readStream(await world.ask(caller, { path: paths.chat, body }));
    expect(stream.failure).toBeNull();
    expect(stream.text).toEndWith("data: [DONE]\n\n");
    expect(await world.chargesOf(caller)).toEqual([...measured]);
  });
});

describe("a reasoning summary of two parts", () => {
  const summary = ["First, the gate.", "Then, the water."];
  const output = [
    { type: "reasoning", id: "rs_1", summary: summary.map((part) => ({ type: "summary_text", text: part })) },
    {
      type: "message",
      id: "m",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    },
  ];
  const whole = {
    id: "resp_up",
    object: "response",
    created_at: 1,
    model: "up",
    status: "completed",
    output,
    usage: { input_tokens: 100, output_tokens: 20 },
  };

  function streamed(): string {
    let sequence = 0;
    const event = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...more })}\n\n`;
    const at = { item_id: "rs_1", output_index: 0 };
    return [
      event("response.created", { response: { ...whole, status: "in_progress", output: [], usage: null } }),
      event("response.output_item.added", {
        output_index: 0,
        item: { type: "reasoning", id: "rs_1", summary: [] },
      }),
      ...summary.flatMap((part, index) => [
        event("response.reasoning_summary_part.added", {
          ...at,
          summary_index: index,
          part: { type: "summary_text", text: "" },
        }),
        event("response.reasoning_summary_text.delta", { ...at, summary_index: index, delta: part }),
        event("response.reasoning_summary_text.done", { ...at, summary_index: index, text: part }),
        event("response.reasoning_summary_part.done", {
          ...at,
          summary_index: index,
          part: { type: "summary_text", text: part },
        }),
      ]),
      event("response.output_item.done", { output_index: 0, item: output[0] }),
      event("response.completed", { response: whole }),
    ].join("");
  }

  test("stays two parts where a provider ignores `stream`", async () => {
    const caller = await world.creditCaller();
    world.provider.script(json(whole));
    const body = hello("responses", "gpt-test", { stream: true });
    const stream = await readStream(await world.ask(caller, { path: paths.responses, body }));
    const events = dataOf<{ type: string; summary_index?: number; delta?: string }>(stream);
    const deltas = events.filter(({ type }) => type === "response.reasoning_summary_text.delta");
    expect(deltas.map(({ summary_index, delta }) => [summary_index, delta])).toEqual([
      [0, summary[0]],
      [1, summary[1]],
    ]);
  });

  test("stays two parts where a provider streams unasked", async () => {
    const caller = await world.creditCaller();
    world.provider.script(sse(streamed()));
    const response = await world.ask(caller, { path: paths.responses, body: hello("responses", "gpt-test") });
    const answer = (await response.json()) as { output: { type: string; summary?: { text: string }[] }[] };
    const reasoning = answer.output.find(({ type }) => type === "reasoning");
    expect(reasoning?.summary?.map((part) => part.text)).toEqual([...summary]);
  });

  test("is told apart by a blank line in a dialect that knows no parts", async () => {
    const caller = await world.creditCaller();
    const body = hello("messages", "talker", { stream: true });
    world.provider.script(sse(streamed()));
    const stream = await readStream(await world.ask(caller, { path: paths.messages, body }));
    const thought = dataOf<{ delta?: { thinking?: string } }>(stream).map(
      ({ delta }) => delta?.thinking ?? "",
    );
    expect(thought.join("")).toBe(summary.join("\n\n"));
    world.provider.script(json(whole));
    const response = await world.ask(caller, { path: paths.messages, body: hello("messages", "talker") });
    const { content } = (await response.json()) as { content: { type: string; thinking?: string }[] };
    expect(content.find(({ type }) => type === "thinking")?.thinking).toBe(summary.join("\n\n"));
  });
});
