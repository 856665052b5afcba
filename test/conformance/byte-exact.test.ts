import { describe, expect, test } from "bun:test";
import { splitAt } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { allStreams, answerFrom, fixture, type StreamName } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";
import { readStream } from "../support/sse.ts";
import { chat, messagesRoute, type Route, responses } from "./requests.ts";
import { useWorld } from "./world.ts";

const world = useWorld();

const routes: Record<BodyDialectName, Route> = { chat, responses, messages: messagesRoute };

/** Random cuts, close together in some runs and rare in others. */
function places(seed: number, length: number): number[] {
  const random = seededRandom(seed);
  const count = random.pick([1, 3, 10, 60]);
  return Array.from({ length: count }, () => random.below(length));
}

async function relayed(name: StreamName, route: Route, seed: number, change: object): Promise<string> {
  const key = seed % 2 === 0 ? world.credit : world.token;
  const length = Buffer.byteLength(fixture(name));
  world.provider.script(splitAt(answerFrom(name), places(seed, length), seed % 3 === 0 ? 0 : 1));
  const body = { ...route.body, stream: true, ...change };
  const { text, failure } = await readStream(await world.sluice.request(route.path, { key, body }));
  expect(failure).toBeNull();
  return text;
}

async function expectByteExact(dialect: BodyDialectName, change: object): Promise<void> {
  for (const [index, name] of allStreams[dialect].entries()) {
    for (let turn = 0; turn < 8; turn += 1) {
      const seed = index * 100 + turn;
      expect(await relayed(name, routes[dialect], seed, change), `${name}, seed ${seed}`).toBe(fixture(name));
    }
  }
}

describe("a provider's stream reaches the client byte for byte, wherever it is cut", () => {
  test("6.1.8 byte for byte on chat completions, with usage asked for", async () => {
    await expectByteExact("chat", { stream_options: { include_usage: true } });
  }, 120_000);

  test("6.3 byte for byte on responses", () => expectByteExact("responses", {}), 60_000);

  test("6.3 byte for byte on messages", () => expectByteExact("messages", {}), 60_000);

  test("6.1.8 byte for byte on chat completions, without the usage chunk when the client has not asked for it", async () => {
    for (const name of [
      "chat/text.sse",
      "chat/tools.sse",
      "chat/cached-usage.sse",
      "chat/crlf-comments.sse",
    ] as const) {
      const events = fixture(name).split(/(?<=\n\r?\n)/);
      const expected = events.filter((event) => !/"choices":\[\]/.test(event)).join("");
      for (let seed = 0; seed < 8; seed += 1) {
        expect(await relayed(name, chat, seed, {}), `${name}, seed ${seed}`).toBe(expected);
        expect(world.provider.requests.at(-1)?.body["stream_options"]).toEqual({ include_usage: true });
      }
    }
  }, 120_000);
});
