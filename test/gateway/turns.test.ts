import { describe, expect, spyOn, test } from "bun:test";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";
import { sse } from "../support/answers.ts";
import { World } from "./world.ts";

/** Chunks that the client did not ask for, so that not even a full socket makes the pump wait. */
const hidden = Buffer.from(
  'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'.repeat(700),
);

const mostReads = 200;

test("a stream that arrives faster than it is relayed leaves others their turn", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  const { upstream } = world.gateway.configured;
  const { open } = upstream;
  let reads = 0;
  upstream.open = async (plan) => {
    const opened = await open.call(upstream, plan);
    const { read } = opened;
    let isOthersTurn = false;
    const takeTurn = () => {
      isOthersTurn = true;
    };
    opened.read = () => {
      if (reads === 0) setTimeout(takeTurn, 0);
      reads += 1;
      return isOthersTurn || reads > mostReads ? read.call(opened) : hidden;
    };
    return opened;
  };
  const messages = [{ role: "user", content: "Hello" }];
  const body = { model: "gpt-test", stream: true, messages };
  const response = await world.ask(caller, { path: "/v1/chat/completions", body });
  expect(await response.text()).toContain("[DONE]");
  expect(reads).toBeLessThan(mostReads);
  expect(await world.chargesOf(caller)).toHaveLength(1);
});

describe("a provider that sends megabytes at once", () => {
  /** Each event has to be parsed, and says nothing. */
  const nothing = 'data: {"":1}\n\n'.repeat(200_000);
  const end =
    'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n' +
    'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]\n\n';

  /** The most bytes that a method was given in one turn of the event loop while the work ran. */
  async function mostPerTurn(reader: object, method: string, work: () => Promise<void>): Promise<number> {
    const perTurn = [0];
    let isOver = false;
    const count = () => {
      perTurn.push(0);
      if (!isOver) setImmediate(count);
    };
    // The spy keeps what it calls, whichever class that belongs to.
    const methods = reader as Record<string, (bytes: Uint8Array) => unknown>;
    const read = methods[method];
    const spy = spyOn(methods, method).mockImplementation(function (this: unknown, bytes: Uint8Array) {
      perTurn[perTurn.length - 1] = (perTurn.at(-1) ?? 0) + bytes.length;
      return read?.call(this, bytes);
    });
    setImmediate(count);
    try {
      await work();
    } finally {
      isOver = true;
      spy.mockRestore();
    }
    return Math.max(...perTurn);
  }

  test.each([
    { what: "passes through", path: "/v1/chat/completions", model: "gpt-test", stream: true },
    { what: "is translated", path: "/v1/messages", model: "local-test", stream: true },
    { what: "was not asked to stream", path: "/v1/messages", model: "local-test", stream: false },
  ])("is read a part in each turn where it $what", async ({ path, model, stream }) => {
    await using world = await World.start();
    const caller = await world.creditCaller();
    world.provider.script(sse(nothing + end));
    const messages = [{ role: "user", content: "Hello" }];
    const most = await mostPerTurn(SseDecoder.prototype, "feed", async () => {
      const response = await world.ask(caller, { path, body: { model, stream, max_tokens: 10, messages } });
      expect(await response.text()).toContain("Hi");
    });
    expect(most).toBeWithin(1024, 200 * 1024);
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });
});
