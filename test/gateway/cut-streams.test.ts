import { describe, expect, test } from "bun:test";
import { clientDialect, providerDialect } from "../../src/dialects/registry.ts";
import { translate } from "../../src/dialects/translation/translate.ts";
import { TranslatedRelayer } from "../../src/gateway/response/translated-relayer.ts";
import { bodyDialectNames } from "../support/body-dialects.ts";
import { fixture, streamsWithUsage } from "../support/fixtures.ts";

type Client = (typeof bodyDialectNames)[number];

function relayerFor(client: Client): TranslatedRelayer {
  const messages = [{ role: "user", content: "Hello" }];
  const body =
    client === "responses" ? { model: "m", input: "Hello" } : { model: "m", messages, max_tokens: 50 };
  const source = {
    dialect: clientDialect(client),
    body: { ...body, stream: true },
    model: "m",
    nowSeconds: 1,
    estimatedInputTokens: 5,
  };
  const target = {
    dialect: providerDialect("gemini"),
    upstreamModel: "gemini-3.1-pro-preview",
    provider: "p",
    isStrict: true,
    maxOutputTokens: 4096,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: {},
  } as const;
  let minted = 0;
  const mint = (prefix: string) => {
    minted += 1;
    return `${prefix}${minted}`;
  };
  return new TranslatedRelayer(translate(source, target, mint).stream(), "req_1");
}

/** What the client is given of these bytes, and whether that is all. */
function relayed(client: Client, bytes: Uint8Array) {
  const relayer = relayerFor(client);
  let text = relayer.push(bytes);
  if (relayer.found.failure === null) text += relayer.end();
  const isComplete = relayer.found.failure === null;
  if (isComplete) text += relayer.terminal();
  return { text: text.replace(/"completed_at":\d+/, '"completed_at":1'), isComplete, relayer };
}

/** The same with every byte alone, so that every frame is read in full. */
function relayedInFull(client: Client, bytes: Uint8Array) {
  const relayer = relayerFor(client);
  let text = "";
  for (const byte of bytes) text += relayer.push(Uint8Array.of(byte));
  text += relayer.end() + relayer.terminal();
  return {
    text: text.replace(/"completed_at":\d+/, '"completed_at":1'),
    usage: relayer.found.usage,
    said: relayer.found.takeProduced(),
  };
}

describe("frames that differ in their text and their figures (G53)", () => {
  for (const client of bodyDialectNames) {
    test(`are the same for a ${client} client whether they are read in full or not`, () => {
      for (const name of streamsWithUsage.gemini) {
        for (const text of [fixture(name), fixture(name).replaceAll("\r\n", "\n")]) {
          const { text: written, relayer } = relayed(client, Buffer.from(text));
          const inFull = relayedInFull(client, Buffer.from(text));
          expect(
            { text: written, usage: relayer.found.usage, said: relayer.found.takeProduced() },
            name,
          ).toEqual(inFull);
        }
      }
    });

    test(`are charged for a ${client} client by the last that came`, () => {
      const frames = fixture("gemini/long.sse").split(/(?<=\r\n\r\n)/);
      for (let count = 1; count < frames.length; count += 1) {
        const relayer = relayerFor(client);
        relayer.push(Buffer.from(frames.slice(0, count).join("")));
        const { candidatesTokenCount: said = 0, thoughtsTokenCount: thought = 0 } = JSON.parse(
          frames[count - 1]?.slice(6) ?? "",
        ).usageMetadata;
        expect(relayer.found.partialUsage).toMatchObject({ outputTokens: said + thought, isUpToDate: true });
      }
    });
  }
});

describe("chunks that leave out the figure of the candidates, as those before the last may (G53)", () => {
  const chunk = (part: object, usageMetadata: object, finishReason?: string) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts: [part] }, finishReason }], usageMetadata })}\n\n`;
  const prompt = { promptTokenCount: 20, totalTokenCount: 20 };
  const thought = { promptTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 25 };

  for (const client of bodyDialectNames) {
    test(`do not make the text free for a ${client} client, whether it is the first or a later one`, () => {
      for (const usage of [prompt, thought, { totalTokenCount: 120 }]) {
        const relayer = relayerFor(client);
        for (const text of ["It rains", " and rains", " and rains"]) {
          relayer.push(Buffer.from(chunk({ text }, usage)));
          expect(relayer.found.partialUsage).toMatchObject({ isOutputDoubtful: true });
        }
        relayer.push(Buffer.from(chunk({ text: "." }, usage, "STOP")));
        relayer.end();
        expect(relayer.found.usage).toMatchObject({ isOutputDoubtful: true });
      }
    });

    test(`are believed for a ${client} client as far as they report what was written`, () => {
      const relayer = relayerFor(client);
      relayer.push(Buffer.from(chunk({ text: "Hm", thought: true }, prompt)));
      expect(relayer.found.partialUsage).toMatchObject({ isOutputDoubtful: true });
      relayer.push(Buffer.from(chunk({ text: "Rain?", thought: true }, thought)));
      expect(relayer.found.partialUsage).toMatchObject({ outputTokens: 5, isUpToDate: true });
      expect(relayer.found.partialUsage).not.toHaveProperty("isOutputDoubtful");
      relayer.push(Buffer.from(chunk({ text: "It rains." }, { ...thought, totalTokenCount: 28 }, "STOP")));
      relayer.end();
      expect(relayer.found.usage).toMatchObject({ inputTokens: 20, outputTokens: 8 });
      expect(relayer.found.usage).not.toHaveProperty("isOutputDoubtful");
    });
  }
});

describe("a stream of Gemini that is cut off at any byte (T01, G56)", () => {
  for (const client of bodyDialectNames) {
    test(`gives a ${client} client the whole answer, or the beginning of it and a failure`, () => {
      for (const name of streamsWithUsage.gemini) {
        const bytes = Buffer.from(fixture(name));
        const whole = relayed(client, bytes);
        expect(whole.isComplete).toBe(true);
        let completeFrom = bytes.length;
        // Every byte of two of them, and some of the others, which take longer.
        const step = name === "gemini/text.sse" || name === "gemini/tools.sse" ? 1 : 13;
        for (let cut = 0; cut < bytes.length; cut += step) {
          const { text, isComplete, relayer } = relayed(client, bytes.subarray(0, cut));
          if (isComplete) {
            completeFrom = Math.min(completeFrom, cut);
            expect(text, `${name} at ${cut}`).toBe(whole.text);
          } else {
            expect(whole.text.startsWith(text), `${name} at ${cut}`).toBe(true);
            expect(relayer.found.failure?.code).toBe("upstream_error");
            expect(relayer.ended).toBe(false);
          }
        }
        if (step > 1) continue;
        // Only what follows the JSON of the last chunk may be missing.
        expect(bytes.subarray(completeFrom).toString().trim()).toBe("");
      }
    });
  }
});
