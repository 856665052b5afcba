import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";
import type { StreamTranslator } from "../../src/dialects/translation/stream-translator.ts";
import { TranslatedRelayer } from "../../src/gateway/response/translated-relayer.ts";
import { type Golden, parseGolden, readGoldens, translationOf } from "../dialects/golden-file.ts";
import { bytesOf, requestOf } from "../dialects/golden-run.ts";
import { isFast, placeStep } from "../support/effort.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";

/**
 * Wherever the bytes are cut, what the client reads, what is counted and how it ends must be what comes out when every frame is read
 * by itself.
 */

interface Outcome {
  readonly text: string;
  readonly produced: string;
  readonly started: boolean;
  readonly usage: unknown;
}

/** Frame by frame. */
function inFull(golden: Golden, body: JsonObject, stream: Uint8Array): Outcome {
  const translator = translationOf(golden, body).stream();
  const decoder = new SseDecoder();
  let text = "";
  try {
    for (const frame of [...decoder.push(stream), ...decoder.end()]) {
      if (!translator.ended) text += translator.push(frame);
    }
    if (!translator.ended) text += translator.end();
    text += translator.terminal();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    text += translator.failure(error, "req_1", null);
    translator.found.fail(error);
  }
  const { partialUsage: usage, started } = translator.found;
  return { text, produced: translator.found.takeProduced(), started, usage };
}

function inTransit(translator: StreamTranslator, pieces: Iterable<Uint8Array>): Outcome {
  const relayer = new TranslatedRelayer(translator, "req_1");
  let text = "";
  for (const piece of pieces) if (relayer.found.failure === null) text += relayer.push(piece);
  if (relayer.found.failure === null && !relayer.ended) text += relayer.end();
  text += relayer.found.failure === null ? relayer.terminal() : relayer.failure(relayer.found.failure, null);
  return {
    text,
    produced: relayer.found.takeProduced(),
    started: relayer.found.started,
    usage: relayer.found.partialUsage,
  };
}

function* cutAt(bytes: Uint8Array, ...places: readonly number[]): Generator<Uint8Array> {
  let from = 0;
  for (const place of [...places, bytes.length]) {
    yield bytes.subarray(from, place);
    from = place;
  }
}

function framesOf(stream: string): Uint8Array[] {
  return stream.split(/(?<=\n\n)/).map(bytesOf);
}

function* places(bytes: Uint8Array, step: number): Generator<number> {
  for (let at = step; at < bytes.length; at += step) yield at;
}

const goldens = readGoldens().filter((golden) => golden.sections.has("provider streams"));

describe("every golden stream comes out the same", () => {
  for (const golden of goldens) {
    test(golden.file, () => {
      const stream = golden.sections.get("provider streams") ?? "";
      const bytes = bytesOf(stream);
      const body = requestOf(golden);
      const full = inFull(golden, body, bytes);
      const same = (pieces: Iterable<Uint8Array>) =>
        expect(inTransit(translationOf(golden, body).stream(), pieces)).toEqual(full);
      same([bytes]);
      same(framesOf(stream));
      for (const step of [1, 2, 7, 64]) same(cutAt(bytes, ...places(bytes, step)));
    });
  }
});

test("once an answer is long, what comes of it is relayed in turns of its own: its end may repeat all of it", () => {
  const relayer = new TranslatedRelayer(translationOf(goldenOf("messages -> chat"), {}).stream(), "req_1");
  relayer.push(bytesOf(opening["messages -> chat"]));
  const chunk = bytesOf(chatChunk(`{"content":"${"x".repeat(200_000)}"}`));
  for (let written = 0; written < 5; written += 1) relayer.push(chunk);
  expect(relayer.isCollecting).toBe(false);
  relayer.push(chunk);
  expect(relayer.isCollecting).toBe(true);
});

const pairs = ["messages -> chat", "chat -> messages"] as const;
type Pair = (typeof pairs)[number];

function goldenOf(pair: Pair): Golden {
  return parseGolden("made", `A made one\n${pair}\n`);
}

function streamOf(pair: Pair, literals: readonly string[]): string {
  const chunks = literals.map((literal) =>
    pair === "messages -> chat" ? chatChunk(`{"content":${literal}}`) : messagesDelta("text", literal),
  );
  return opening[pair] + chunks.join("") + ending[pair];
}

function chatChunk(delta: string): string {
  return `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"finish_reason":null}]}\n\n`;
}

function messagesDelta(field: string, literal: string, index = 0): string {
  const delta = `{"type":"${field}_delta","${field}":${literal}}`;
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${delta}}\n\n`;
}

const opening: Readonly<Record<Pair, string>> = {
  "messages -> chat": chatChunk('{"role":"assistant","content":""}'),
  "chat -> messages":
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
};

const ending: Readonly<Record<Pair, string>> = {
  "messages -> chat":
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' +
    'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}\n\ndata: [DONE]\n\n',
  "chat -> messages":
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n' +
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\n' +
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
};

function frameOf(pair: Pair, literal: string): string {
  return streamOf(pair, [literal]).slice(opening[pair].length, -ending[pair].length);
}

const odd: Readonly<Record<Pair, string>> = {
  "messages -> chat": chatChunk('{"content":"x"},"more":[1]'),
  "chat -> messages": 'event: ping\ndata: {"type":"ping"}\n\n',
};

test("a client is shown the most output that has been reported", () => {
  const golden = goldenOf("messages -> chat");
  const usage = (tokens: number) =>
    `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":${tokens}}}\n\n`;
  const stream =
    streamOf("messages -> chat", ['"Hi"']).replace(ending["messages -> chat"], "") +
    usage(13) +
    ending["messages -> chat"];
  const relayer = new TranslatedRelayer(translationOf(golden, requestOf(golden)).stream(), "req_1");
  relayer.push(bytesOf(stream));
  expect(relayer.found.usage?.outputTokens).toBe(13);
  expect(relayer.terminal()).toContain('"output_tokens":13');
});

test("text that waits to be counted does not keep the provider's events alive", () => {
  const golden = goldenOf("messages -> chat");
  const frame = bytesOf(frameOf("messages -> chat", '"tide"'));
  const relayers = Array.from({ length: 50 }, () => {
    const stream = translationOf(golden, requestOf(golden)).stream();
    return new TranslatedRelayer(stream, "req_1");
  });
  Bun.gc(true);
  const before = heapStats().heapSize;
  for (const relayer of relayers) {
    for (let count = 0; count < 4000; count += 1) {
      relayer.push(frame);
      if (relayer.found.producedChars <= count) throw new Error("a word was lost");
    }
  }
  Bun.gc(true);
  const perStream = (heapStats().heapSize - before) / relayers.length;
  // 16,000 characters; the events that they were cut out of are 480,000.
  expect(perStream).toBeLessThan(100_000);
  expect(relayers[0]?.found.takeProduced().length).toBe(16_000);
});

/** Strings as JSON may have them, and as it may not. */
const oddLiterals = [
  '""',
  '"a"',
  '"content"',
  '"text"',
  '"<another text>"',
  '"Grüße, 世界"',
  '"👩‍👩‍👧"',
  '"\\ud83d"',
  '"\\ude00"',
  '"\\uD83D\\uDE00"',
  '"\\u0041\\/\\b\\f"',
  '"a\\nb\\tc"',
  '"say \\"hi\\" \\\\"',
  '"\\\\"',
  '"\u2028\u007f"',
  '"<think>"',
  '"</think>"',
  '"data: x"',
  '"\\u0000"',
];
const brokenLiterals = ['"\\x"', '"a\tb"', '"a"b"', '"\\u00"', "null", "7", '["a"]', '"a\nb"', '"a\rb"'];

/** Other ways to write the same, and things that stand between. */
function variant(pair: Pair, literal: string, random: SeededRandom): string {
  const frame = frameOf(pair, literal);
  switch (random.below(14)) {
    case 0:
      return frame.replaceAll("\n", "\r\n");
    case 1:
      return frame.replace("data: ", "data:");
    case 2:
      return frame.replaceAll('":', '" : ');
    case 3:
      return `: busy\n${frame}`;
    case 4:
      return frame.replace("}\n\n", ',"service_tier":"flex"}\n\n');
    case 5:
      return frame.replace("}\n\n", ',"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n');
    case 6:
      return pair === "messages -> chat"
        ? chatChunk(`{"reasoning_content":${literal}}`)
        : messagesDelta("thinking", literal);
    case 7:
      return pair === "messages -> chat"
        ? chatChunk(`{"content":"shadowed","content":${literal}}`)
        : messagesDelta("text", literal, 1);
    case 8:
      return pair === "messages -> chat" ? chatChunk(`{"content":${literal},"refusal":"no"}`) : odd[pair];
    case 9:
      return frame.replace("data: {", 'data: {"obfuscation":"xyz",');
    default:
      return frame;
  }
}

describe("streams at random come out the same, wherever they are cut", () => {
  for (const pair of pairs) {
    test(pair, () => {
      const golden = goldenOf(pair);
      const body = requestOf(golden);
      for (let seed = 1; seed <= (isFast ? 100 : 400); seed += 1) {
        const random = seededRandom(seed);
        const bytes = bytesOf(randomStream(pair, random));
        const full = inFull(golden, body, bytes);
        const cuts = Array.from({ length: random.below(12) }, () => random.below(bytes.length));
        const ways = [[], cuts.sort((a, b) => a - b), [...places(bytes, 1 + random.below(200))]];
        for (const way of ways) {
          const outcome = inTransit(translationOf(golden, body).stream(), cutAt(bytes, ...way));
          expect(outcome, `seed ${seed}`).toEqual(full);
        }
      }
    });

    test(`${pair}, in two at every byte`, () => {
      const golden = goldenOf(pair);
      const body = requestOf(golden);
      const stream = streamOf(pair, [...oddLiterals.slice(1), ...oddLiterals]);
      const bytes = bytesOf(stream);
      const full = inFull(golden, body, bytes);
      for (let at = 0; at <= bytes.length; at += placeStep) {
        const outcome = inTransit(translationOf(golden, body).stream(), cutAt(bytes, at));
        expect(outcome, `cut at ${at}`).toEqual(full);
      }
    });
  }
});

function randomStream(pair: Pair, random: SeededRandom): string {
  const frames = Array.from({ length: 5 + random.below(40) }, () => {
    const literal = random.chance(0.01) ? random.pick(brokenLiterals) : random.pick(oddLiterals);
    return random.chance(0.8) ? frameOf(pair, literal) : variant(pair, literal, random);
  });
  return opening[pair] + frames.join("") + (random.chance(0.9) ? ending[pair] : "");
}
