import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { LoopPacer } from "../../src/base/loop/pacer.ts";
import { largeEventBytes, parseEvent } from "../../src/dialects/sse/event.ts";
import { LargeBodies } from "../../src/gateway/body-worker/body-worker.ts";
import { bytesOf } from "../../src/gateway/exchange/client-call.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import type { StreamRelayer } from "../../src/gateway/response/pending-response.ts";
import { type Answer, sse } from "../support/answers.ts";
import { seededRandom } from "../support/random.ts";
import { waitFor } from "../support/wait.ts";
import { type Pair, pairs, talker, translatedPairs } from "./pairs.ts";
import { hello, paths, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

const parsing = spyOn(JSON, "parse");
const events = spyOn(LargeBodies.prototype, "parseEvent");

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
beforeEach(() => {
  parsing.mockClear();
  events.mockClear();
});
afterEach(() => world.provider.reset());
afterAll(async () => {
  parsing.mockRestore();
  events.mockRestore();
  await world[Symbol.asyncDispose]();
});

const longestParsed = () => Math.max(0, ...parsing.mock.calls.map(([text]) => text.length));

/** Takes long to parse, because every second character is escaped. */
const longText = 'a"'.repeat(largeEventBytes / 2);
const text = `Sluices ${longText} keep the canal navigable.`;

async function answered({ client, model }: Pair, answer: Answer, stream: boolean) {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  const limit = client === "messages" ? { max_tokens: 50 } : {};
  const body = hello(client, model, { stream, ...limit });
  const response = await world.ask(caller, { path: paths[client], body });
  return { status: response.status, body: await response.text(), charges: await world.chargesOf(caller) };
}

const measured = { amount: -(100 * 1_000 + 20 * 2_000), basis: "measured", outcome: "completed" } as const;

describe("a large event of a stream is not parsed on the event loop, and says what it would otherwise:", () => {
  for (const pair of pairs) {
    const { client, provider } = pair;
    const stream = () => streamEvents(provider, { text, usage: usageOf(provider, 100, 20) }).join("");

    test(`${client} from ${provider}`, async () => {
      const { status, body, charges } = await answered(pair, sse(stream()), true);
      expect(status).toBe(200);
      // The chunk with the usage was not asked for.
      if (client === provider)
        expect(stream().startsWith(body.slice(0, body.indexOf("navigable.")))).toBe(true);
      else expect(body).toContain(JSON.stringify(longText).slice(1, -1));
      expect(body).toContain("navigable.");
      expect(body).toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(charges).toEqual([measured]);
      expect(events).toHaveBeenCalled();
      expect(longestParsed()).toBeLessThan(largeEventBytes);
    });

    test(`${client} from ${provider}, which reports no usage and breaks off, is counted`, async () => {
      const said = streamEvents(provider, { text }).join("");
      const cut = said.slice(0, said.indexOf(" keep") + 5).lastIndexOf("\n\n") + 2;
      const { body, charges } = await answered(pair, sse(said.slice(0, cut)), true);
      expect(body).toContain(JSON.stringify(longText).slice(1, -1));
      expect(charges).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
      expect(longestParsed()).toBeLessThan(largeEventBytes);
    });
  }

  for (const pair of translatedPairs) {
    test(`${pair.client} from ${pair.provider}, where no stream was asked for`, async () => {
      const { provider } = pair;
      const said = streamEvents(provider, { text, usage: usageOf(provider, 100, 20) });
      const { status, body, charges } = await answered(pair, sse(said.join("")), false);
      expect(status).toBe(200);
      expect(body.length).toBeGreaterThan(largeEventBytes);
      expect(charges).toEqual([measured]);
      // The client's response is not parsed at all.
      expect(longestParsed()).toBeLessThan(largeEventBytes);
    });
  }
});

test("a stream whose thread is lost fails in-band, and is charged for what came before", async () => {
  const [pair] = pairs;
  events.mockImplementationOnce(async () => {
    throw new Error("the thread is lost");
  });
  const { body, charges } = await answered(pair, sse(streamEvents("chat", { text }).join("")), true);
  expect(body).toContain("Internal gateway error.");
  expect(charges).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
});

test("a client that leaves while a large event is parsed is charged for what came before", async () => {
  const [pair] = pairs;
  const caller = await world.creditCaller();
  const { promise, resolve } = Promise.withResolvers<void>();
  events.mockImplementationOnce(async (event) => {
    await promise;
    return parseEvent(event);
  });
  world.provider.script(sse(streamEvents("chat", { text, usage: usageOf("chat", 100, 20) }).join("")));
  const leaving = new AbortController();
  const response = await world.ask(caller, {
    path: paths.chat,
    body: hello("chat", pair.model, { stream: true }),
    signal: leaving.signal,
  });
  await response.body?.getReader().read();
  await waitFor(() => events.mock.calls.length > 0, "the event");
  leaving.abort();
  await waitFor(async () => (await world.chargesOf(caller)).length > 0, "the charge");
  resolve();
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "cancelled" }]);
});

test("the parts of a large event are relayed each in a turn of its own", async () => {
  const turns = spyOn(LoopPacer.prototype, "wait");
  const long = "canal ".repeat(400_000);
  for (const pair of [pairs[0], pairs[5]]) {
    turns.mockClear();
    const said = streamEvents("chat", { text: long.replaceAll(" ", "_"), usage: usageOf("chat", 100, 20) });
    const { charges } = await answered(pair, sse(said.join("")), true);
    expect(charges).toEqual([measured]);
    // Three for what is parsed elsewhere and written; a network gives half a megabyte at most.
    expect(turns.mock.calls.length).toBeGreaterThanOrEqual(3 + 4);
  }
  turns.mockRestore();
});

test("what follows much text is relayed in a turn of its own, because an end may repeat all of it", async () => {
  const said = streamEvents("chat", { text: longText, usage: usageOf("chat", 100, 20) });
  const { charges } = await answered(pairs[4], sse(said.join("")), true);
  expect(charges).toEqual([measured]);
  const parsed = events.mock.calls.map(([event]) => `data: ${event}\n\n`);
  const at = said.indexOf(parsed[0] ?? "");
  expect(at).toBeGreaterThan(0);
  expect(parsed).toEqual(said.slice(at, -1));
});

test("a whole answer of many megabytes is copied in many turns", async () => {
  const turns = spyOn(LoopPacer.prototype, "wait");
  const [pair] = pairs;
  const long = "canal ".repeat(2 * 1024 * 1024);
  const answer = wholeAnswer("chat", { text: long, usage: usageOf("chat", 100, 20) });
  const { status, body, charges } = await answered(pair, answer, false);
  expect(status).toBe(200);
  expect(body).toContain(long.slice(0, 600));
  expect(body.length).toBeGreaterThan(long.length);
  expect(charges).toEqual([measured]);
  // Three for the copy, one for the result, one for the response.
  expect(turns.mock.calls.length).toBeGreaterThanOrEqual(5);
  turns.mockRestore();
});

describe("large events that pass through leave as they came,", () => {
  const call = {
    dialect: "chat",
    hideUsage: false,
    requestId: "r",
    model: "m",
    atSeconds: 1,
  } as const;

  /** Everything that leaves, wherever the chunks are cut; large events are parsed on the spot. */
  function passed(bytes: Uint8Array, nextSize: () => number) {
    const relayer: StreamRelayer = new PassthroughRelayer(call);
    const pieces: Uint8Array[] = [];
    let large = 0;
    const take = (piece: Uint8Array | string) => {
      pieces.push(bytesOf(piece));
      for (let event = relayer.largeEvent; event !== null; event = relayer.largeEvent) {
        large += 1;
        pieces.push(bytesOf(relayer.resume(parseEvent(event))));
      }
    };
    for (let at = 0; at < bytes.length; ) {
      const size = nextSize();
      take(relayer.push(bytes.subarray(at, at + size)));
      at += size;
    }
    if (!relayer.ended) {
      take(relayer.end());
      take(relayer.end());
    }
    if (relayer.ended) pieces.push(bytesOf(relayer.terminal()));
    return { out: Buffer.concat(pieces).toString(), large, relayer };
  }

  const chunk = (content: string, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
  const usage = `data: ${JSON.stringify({ choices: [], usage: usageOf("chat", 100, 20), x: longText })}\n\n`;

  test("wherever their bytes are cut", () => {
    const stream = [
      chunk("a"),
      chunk(longText),
      chunk("b"),
      chunk(longText),
      chunk("c", "stop"),
      usage,
      "data: [DONE]\n\n",
    ];
    for (const lineEnd of ["\n", "\r\n", "\r"]) {
      const bytes = Buffer.from(stream.join("").replaceAll("\n\n", lineEnd + lineEnd));
      for (let seed = 1; seed <= 5; seed += 1) {
        const random = seededRandom(seed);
        const most = random.pick([1000, 70_000, 2_000_000]);
        const { out, large, relayer } = passed(bytes, () => 1 + random.below(most));
        expect(out === bytes.toString(), `seed ${seed}`).toBe(true);
        expect(large, `seed ${seed}`).toBe(3);
        expect(relayer.found.usage).toMatchObject({ outputTokens: 20 });
      }
    }
  });

  test("and text behind the figures makes them doubtful", () => {
    const bytes = Buffer.from(
      [chunk("a"), usage, chunk(longText), chunk("", "stop"), "data: [DONE]\n\n"].join(""),
    );
    expect(passed(bytes, () => bytes.length).relayer.found.usage).toMatchObject({ isOutputDoubtful: true });
  });

  test("the last one also without its blank line", () => {
    const said = chunk("a") + chunk(longText, "stop").trimEnd();
    const { out, relayer } = passed(Buffer.from(said), () => 100_000);
    expect(out === `${said}\n\ndata: [DONE]\n\n`).toBe(true);
    expect(relayer.found.failure).toBeNull();
  });

  test("but half a one does not leave", () => {
    const whole = chunk("a", "stop");
    const { out } = passed(Buffer.from(whole + chunk(longText).slice(0, -20)), () => 100_000);
    expect(out === `${whole}data: [DONE]\n\n`).toBe(true);
  });
});
