import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { Json } from "../../src/base/json.ts";
import {
  clientDialect,
  type ProviderDialectName,
  providerDialect,
  providerDialectNames,
} from "../../src/dialects/registry.ts";
import { translate } from "../../src/dialects/translation/translate.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import type { StreamRelayer } from "../../src/gateway/response/pending-response.ts";
import { TranslatedRelayer } from "../../src/gateway/response/translated-relayer.ts";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { isFast, isSoak } from "../support/effort.ts";
import { fixture, streamsWithUsage } from "../support/fixtures.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { mutateBytes, mutateJson } from "./mutate.ts";

/** `SEED=n` runs one again. */
const only = process.env["SEED"] === undefined ? null : Number(process.env["SEED"]);
const runs = isSoak ? 100_000 : isFast ? 300 : 1_200;

/** Without one of these in it, no stream of the dialect has ended properly. */
const ends: Readonly<Record<ProviderDialectName, RegExp>> = {
  chat: /\[DONE\]|"finish_reason":\s*"/,
  responses: /response\.(completed|incomplete|failed)/,
  messages: /message_stop|"stop_reason":\s*"/,
  converse: /"stopReason":\s*"/,
  gemini: /"finishReason":\s*"|"blockReason":\s*"/,
};

function mutateStream(text: string, random: SeededRandom): Uint8Array {
  const events = text.split(/(?<=\n\r?\n)/);
  const at = random.below(events.length);
  const event = events[at] ?? "";
  switch (random.below(6)) {
    case 0:
      return mutateBytes(Buffer.from(text), random);
    case 1:
      return Buffer.from(events.toSpliced(at, 1).join(""));
    case 2:
      return Buffer.from(events.toSpliced(random.below(events.length), 0, event).join(""));
    case 3:
      return Buffer.from(events.slice(0, at).join(""));
    default: {
      const data = /\{.*\}/.exec(event)?.[0];
      if (data === undefined) return mutateBytes(Buffer.from(text), random);
      const mutated = JSON.stringify(
        mutateJson(JSON.parse(data) as Json, random, random.pick([0.02, 0.1, 0.4])),
      );
      return Buffer.from(
        events
          .with(
            at,
            event.replace(data, () => mutated),
          )
          .join(""),
      );
    }
  }
}

function relayerFor(
  client: BodyDialectName,
  provider: ProviderDialectName,
  random: SeededRandom,
): StreamRelayer {
  if (client === provider) {
    const hideUsage = random.chance(0.5);
    return new PassthroughRelayer({
      dialect: client,
      hideUsage,
      requestId: "req_1",
      model: "m",
      atSeconds: 1,
    });
  }
  const messages = [{ role: "user", content: "Hello" }];
  const body =
    client === "responses" ? { model: "m", input: "Hello" } : { model: "m", messages, max_tokens: 50 };
  const translation = translate(
    {
      dialect: clientDialect(client),
      body: { ...body, stream: true },
      model: "m",
      nowSeconds: 1,
      estimatedInputTokens: 5,
    },
    {
      dialect: providerDialect(provider),
      upstreamModel: "u",
      provider: "p",
      isStrict: true,
      maxOutputTokens: 4096,
      maxTokensField: "max_tokens",
      streamUsage: true,
      capabilities: {},
    },
  );
  return new TranslatedRelayer(translation.stream(), "req_1");
}

/** As the relay does it: pieces in, and the end or the failure out. */
function drive(relayer: StreamRelayer, bytes: Uint8Array, random: SeededRandom): GatewayError | null {
  try {
    for (let at = 0; at < bytes.length; ) {
      const next = at + 1 + random.below(random.pick([3, 50, 5000]));
      relayer.push(bytes.slice(at, next));
      at = next;
      if (relayer.ended || relayer.found.failure !== null) break;
    }
    if (!relayer.ended && relayer.found.failure === null) relayer.end();
    if (relayer.found.failure === null) relayer.terminal();
    return relayer.found.failure;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

function expectSound(
  relayer: StreamRelayer,
  failure: GatewayError | null,
  provider: ProviderDialectName,
  bytes: Uint8Array,
): void {
  if (failure === null) {
    expect(relayer.ended).toBe(true);
    expect(Buffer.from(bytes).toString()).toMatch(ends[provider]);
  } else {
    expect(["upstream_error", "invalid_request", "context_length_exceeded", "service_unavailable"]).toContain(
      failure.code,
    );
    expect(relayer.failure(failure, null)).toContain("error");
  }
  expect(relayer.heartbeat()).toEndWith("\n\n");
  expect(typeof relayer.found.takeProduced()).toBe("string");
  for (const usage of [relayer.found.usage, relayer.found.partialUsage]) {
    for (const [name, value] of Object.entries(usage ?? {})) {
      // In addition to token counts, usage has flags: one side may be doubtful, or the counts up to date.
      const isSane = /^is\w+(?:Doubtful|ToDate)$/.test(name)
        ? value === true
        : Number.isSafeInteger(value) && value >= 0;
      expect(isSane, `${name} ${value}`).toBe(true);
    }
  }
}

describe("a provider's stream with something wrong in it ends well or fails well", () => {
  for (const provider of providerDialectNames) {
    for (const client of bodyDialectNames) {
      test(`${provider} toward a ${client} client`, () => {
        for (let seed = only ?? 1; seed <= (only ?? runs); seed += 1) {
          const random = seededRandom(seed);
          const bytes = mutateStream(fixture(random.pick(streamsWithUsage[provider])), random);
          try {
            const relayer = relayerFor(client, provider, random);
            expectSound(relayer, drive(relayer, bytes, random), provider, bytes);
          } catch (cause) {
            throw new Error(`SEED=${seed}`, { cause });
          }
        }
      }, 600_000);
    }
  }
});
