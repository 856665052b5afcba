import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { type Golden, jsonSection, readGoldens, translationOf } from "./golden-file.ts";
import { bytesOf, requestOf } from "./golden-run.ts";

/**
 * Neither a client nor a provider keeps to its dialect. Whatever they write, a translation answers with a
 * translation or with an error that has a code: anything else that is thrown is a fault of ours.
 */
const rounds = 25;
const goldens = readGoldens();

describe("what is not of its dialect is refused, never stumbled over", () => {
  for (const [index, golden] of goldens.entries()) {
    test(golden.file, () => {
      const random = seededRandom(index + 1);
      for (let round = 0; round < rounds; round += 1) expectNoStumble(() => run(golden, random));
    });
  }
});

function run(golden: Golden, random: SeededRandom): void {
  const body = jsonSection(golden, "client sends");
  if (body !== null) translationOf(golden, damaged(body, random) as JsonObject);
  const answer = jsonSection(golden, "provider answers");
  const translation = translationOf(golden, requestOf(golden));
  if (answer !== null) translation.response(damaged(answer, random) as JsonObject);
  const stream = golden.sections.get("provider streams");
  if (stream === undefined) return;
  const translator = translation.stream();
  for (const frame of framesOf(stream)) {
    if (random.chance(0.05)) continue;
    translator.push(frame.data.startsWith("{") ? { ...frame, data: damagedText(frame.data, random) } : frame);
  }
  translator.end();
  translator.terminal();
}

function expectNoStumble(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error.message).not.toBe("");
  }
}

function framesOf(stream: string) {
  const decoder = new SseDecoder();
  return [...decoder.push(bytesOf(stream)), ...decoder.end()];
}

function damagedText(text: string, random: SeededRandom): string {
  return JSON.stringify(damaged(JSON.parse(text), random));
}

const oddities: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  "",
  "x",
  [],
  {},
  [null],
  [[]],
  [{}],
  { toString: 1 },
  { type: "text" },
];

/** Here and there a value is replaced by another, lost, or doubled; the outermost stays an object. */
function damaged(value: Json, random: SeededRandom): Json {
  if (Array.isArray(value)) {
    return value.flatMap((entry) => {
      if (random.chance(0.04)) return [];
      const next = random.chance(0.06) ? random.pick(oddities) : damaged(entry, random);
      return random.chance(0.04) ? [next, next] : [next];
    });
  }
  if (value === null || typeof value !== "object") return value;
  const object: JsonObject = {};
  for (const [name, entry] of Object.entries(value)) {
    if (random.chance(0.04) || entry === undefined) continue;
    object[name] = random.chance(0.06) ? random.pick(oddities) : damaged(entry, random);
  }
  return object;
}
