import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { countTexts } from "../../src/catalog/tokens/bpe.ts";
import { modelInputOf } from "../../src/catalog/tokens/model-input.ts";
import { estimated, heldInput } from "../support/estimated.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";

const enoughMs = 60_000;

/** By the tokenizer, with everything that may be there beyond the usual. */
function countOf(body: JsonObject): number {
  const { texts, fixedTokens, possibleTokens } = modelInputOf(body);
  return countTexts(texts, enoughMs) + fixedTokens + possibleTokens;
}

function isCharacter(code: number): boolean {
  return code < 0xd800 || code > 0xdfff;
}

const blockSize = 128;
const firstRarePlane = 0x20000;
/** All of the first two planes, and a part of each other plane: most of what is there has no tokens of its own. */
const blocks = Array.from({ length: 0x110000 / blockSize }, (_, index) => index * blockSize).filter(
  (block) => block < firstRarePlane || (block / blockSize) % 32 === 0,
);

/** Every character of a block, in no order, side by side or with blanks between. */
function textOf(block: number, random: SeededRandom): string {
  const codes = Array.from({ length: blockSize }, (_, index) => block + index).filter(isCharacter);
  const characters = codes.map((code) => ({ code, place: random.next() }));
  characters.sort((one, other) => one.place - other.place);
  const shuffled = characters.map(({ code }) => String.fromCodePoint(code));
  return shuffled.join(random.chance(0.5) ? "" : " ");
}

test("a text has at most one token for each of its bytes, whatever block of Unicode it is from", () => {
  const random = seededRandom(1);
  for (const block of blocks) {
    const text = textOf(block, random);
    const tokens = countTexts([text], enoughMs);
    if (tokens > Buffer.byteLength(text)) throw new Error(`${block.toString(16)}: ${tokens} tokens`);
  }
}, 120_000);

/** Each with the least tokens per byte that it is known to have: the bound could not be lower for any of them. */
const dense: Readonly<Record<string, readonly [text: string, tokensPerByte: number]>> = {
  "a table of digits": ["7 3 9 1 ".repeat(500), 1],
  "digits in lines": ["7\n3\n9\n1\n".repeat(500), 1],
  Yi: ["\ua000\ua3f1\ua25c".repeat(300), 0.9],
  cuneiform: ["\u{12000}\u{12111}\u{1222f}".repeat(300), 0.9],
  "private use": ["\ue123\uf001\ue777".repeat(300), 0.66],
  "letters that are no pairs": ["qgqgjvzjxq".repeat(300), 0.6],
  signs: ["§ ¶ ~^`|".repeat(300), 0.6],
};

describe("the most that the input of a request can be", () => {
  for (const [what, [text, least]] of Object.entries(dense)) {
    test(`is at or above the count of ${what}`, () => {
      const body = { model: "m", messages: [{ role: "user", content: text }] };
      expect(heldInput(body)).toBeGreaterThanOrEqual(countOf(body));
      expect(countOf(body)).toBeGreaterThan(Buffer.byteLength(text) * least);
    });
  }

  for (let seed = 1; seed <= 40; seed += 1) {
    test(`is at or above the count of any body, seed ${seed}`, () => {
      const random = seededRandom(seed);
      for (let round = 0; round < 25; round += 1) {
        const body = randomBody(random);
        const { atMost, unmeasured } = estimated(body);
        if (unmeasured === 0 && atMost < countOf(body)) throw new Error(JSON.stringify(body));
      }
    });
  }
});

function randomBody(random: SeededRandom): JsonObject {
  const list = (item: () => Json) => Array.from({ length: 1 + random.below(4) }, item);
  const tool = () => ({ name: randomText(random), input_schema: randomValue(random, 0) });
  const message = () => ({ role: "user", content: list(() => randomBlock(random)) });
  return {
    model: "m",
    messages: list(message),
    ...(random.chance(0.3) ? { tools: list(tool) } : {}),
    ...(random.chance(0.3) ? { system: randomText(random) } : {}),
    ...(random.chance(0.2) ? { response_format: randomValue(random, 0) } : {}),
    ...(random.chance(0.2) ? { [randomText(random)]: randomValue(random, 0) } : {}),
  };
}

function randomBlock(random: SeededRandom): JsonObject {
  if (random.chance(0.3))
    return { type: "tool_use", id: "x", name: "f", input: { x: randomValue(random, 0) } };
  if (random.chance(0.2)) {
    const data = `data:text/plain;base64,${Buffer.from(randomText(random).repeat(50)).toString("base64")}`;
    return { type: "file", file: { file_data: data } };
  }
  return { type: "text", text: randomText(random) };
}

function randomValue(random: SeededRandom, depth: number): Json {
  const kind = random.below(depth > 3 ? 4 : 6);
  if (kind === 0) return randomText(random);
  if (kind === 1) return random.chance(0.5) ? null : random.chance(0.5);
  if (kind === 2) return random.below(1000) - 500;
  if (kind === 3) return (random.next() - 0.5) * 10 ** (random.below(600) - 300);
  const values = Array.from({ length: random.below(6) }, () => randomValue(random, depth + 1));
  if (kind === 4) return values;
  return Object.fromEntries(values.map((value) => [randomText(random), value]));
}

/** Characters of one or two blocks, with escapes and blanks between them. */
function randomText(random: SeededRandom): string {
  const block = random.chance(0.5) ? 0 : random.below(0x1100) * blockSize;
  const between = ["", " ", "\n", '"', "\\", "\u0001"][random.below(6)] ?? "";
  const characters = Array.from({ length: random.below(60) }, () => {
    const code = block + random.below(blockSize);
    return String.fromCodePoint(isCharacter(code) && code < 0x110000 ? code : 0x30);
  });
  return characters.join(between);
}
