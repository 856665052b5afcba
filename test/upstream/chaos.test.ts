import { afterEach, beforeEach, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { OpenedCall } from "../../src/upstream/upstream.ts";
import {
  type Answer,
  compressed,
  cutAfter,
  drip,
  hangUp,
  json,
  openAiError,
  silence,
  sse,
  text,
} from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { waitFor } from "../support/wait.ts";
import { setUp } from "./fixtures.ts";

let providers: ScriptedProvider[];

beforeEach(() => {
  providers = [startProvider(), startProvider()];
});

afterEach(() => {
  for (const provider of providers) provider.stop();
});

const stream = answerFrom("chat/text.sse");
const behaviours: readonly Answer[] = [
  json({ id: "x" }),
  stream,
  drip(stream, 2),
  cutAfter(stream, 3),
  cutAfter(stream, 400, [{ reset: true }]),
  cutAfter(stream, 400, [{ stall: true }]),
  sse('data: {"error":{"message":"x"}}\n\n'),
  openAiError(400, "bad"),
  openAiError(401, "who"),
  openAiError(429, "slow", null, { "retry-after-ms": "5" }),
  openAiError(500, "oops"),
  text("<html>", "text/html"),
  compressed(json({ id: "x" })),
  hangUp(),
  silence(),
];

/** Reads to the end, or some of it; ends the call in one of the ways that the gateway does. */
async function consume(opened: OpenedCall, draw: () => number): Promise<void> {
  const readsLeft = draw() < 0.3 ? Math.floor(draw() * 3) : Number.POSITIVE_INFINITY;
  try {
    for (let reads = 0; reads < readsLeft; reads += 1) {
      if (!opened.streaming) opened.bytes();
      if (!opened.streaming || (await opened.read()) === null) break;
    }
    opened.finished(readsLeft === Number.POSITIVE_INFINITY || draw() < 0.5 ? "completed" : "cancelled");
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    opened.finished("failed");
  }
}

for (const seed of [1, 2, 3]) {
  test(`whatever providers and clients do, every call is given back (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const draw = () => random.next();
    for (const provider of providers) {
      provider.script(() => random.pick(behaviours));
    }
    const timeouts = { firstByteMs: 80, streamFirstByteMs: 80, idleMs: 80, connectMs: 5000 };
    const places = providers.map(({ url }) => ({ url, timeouts, apiKeys: ["a", "b"], maxConcurrent: 8 }));
    const { upstream, plan } = setUp(places, { random: draw, heartbeatMs: 40 });
    const exchange = async () => {
      const leaving = new AbortController();
      if (draw() < 0.2) setTimeout(() => leaving.abort(), draw() * 100);
      try {
        await consume(await upstream.open(plan({ stream: draw() < 0.7, signal: leaving.signal })), draw);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
      }
    };
    for (let round = 0; round < 6; round += 1) await Promise.all(Array.from({ length: 25 }, exchange));
    await waitFor(
      () => upstream.health().every(({ inFlight, waiting }) => inFlight === 0 && waiting === 0),
      "all calls to be given back",
    );
  }, 120_000);
}
