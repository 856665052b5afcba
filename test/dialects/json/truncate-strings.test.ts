import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { estimateInput, estimateTruncatedInput } from "../../../src/catalog/estimate.ts";
import { countValues } from "../../../src/dialects/json/json-bytes.ts";
import { maxDepth, scanTopLevel } from "../../../src/dialects/json/json-spans.ts";
import {
  type ParsedBody,
  parseBody,
  parseWhole,
  truncateStrings,
} from "../../../src/dialects/json/parse-body.ts";
import { type RequestKind, validateRequest } from "../../../src/dialects/request-kinds.ts";
import { isFast } from "../../support/effort.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The same without truncation: a scan of all the bytes, and a parse of all the text. */
function parsePlainly(bytes: Uint8Array): ParsedBody {
  const tally = { members: 0 };
  const spans = scanTopLevel(bytes, [], tally);
  return {
    truncated: parseWhole(bytes),
    cutBytes: 0,
    spans,
    memberCount: spans.memberCount + tally.members,
  };
}

const filler = "a line of text, as long as lines are\n".repeat(300);
const longText = "words ".repeat(40);

describe("a long body", () => {
  test("is outlined without its long texts, and counted with them", () => {
    const messages = [
      { role: "user", content: filler },
      { role: "assistant", content: 'é"\u0007'.repeat(100) },
    ];
    const { truncated, cutBytes } = parseBody(bytesOf(JSON.stringify({ model: "m", messages })));
    expect(truncated).toEqual({
      model: "m",
      messages: [
        { role: "user", content: "~" },
        { role: "assistant", content: "~" },
      ],
    });
    expect(cutBytes).toBe(Buffer.byteLength(filler) - 1 + 400 - 1);
  });

  test("keeps the texts of its own members and of objects among them, and every name", () => {
    const metadata = { [longText]: 1, [`${longText}!`]: longText, deeper: { [longText]: longText } };
    const body = { model: longText, system: filler, metadata };
    const { truncated } = parseBody(bytesOf(JSON.stringify(body)));
    expect(truncated).toEqual({ ...body, metadata: { ...metadata, deeper: { [longText]: "~" } } });
  });

  test("is outlined again into the same memory, which the first one's values do not notice", () => {
    const body = (role: string) => ({ messages: [{ role, content: filler }] });
    const first = parseBody(bytesOf(JSON.stringify(body("first")))).truncated;
    parseBody(bytesOf(JSON.stringify(body("other"))));
    expect(first).toEqual({ messages: [{ role: "first", content: "~" }] });
  });

  for (const [what, body] of [
    ["short", { messages: [{ content: longText }] }],
    ["a picture", { messages: [{ content: filler }, { data: "A".repeat(50_000) }] }],
    ["more structure than there is room for", { messages: new Array(200_000).fill(1) }],
  ] as const) {
    test(`that is ${what} is parsed whole`, () => {
      const bytes = bytesOf(JSON.stringify(body));
      expect(truncateStrings(bytes, maxDepth)).toBeNull();
      expect(parseBody(bytes)).toEqual(parsePlainly(bytes));
    });
  }

  for (const [what, text] of [
    ["a line break", `${longText}\n`],
    ["a NUL", `${longText}\u0000`],
    ["an escape that there is not", `${longText}\\x41`],
    ["half an escape", `${longText}\\u12`],
    ["an escape of other digits", `${longText}\\u12g4`],
    ["an end that is escaped", `${longText}\\`],
  ] as const) {
    test(`with ${what} in a long text is refused`, () => {
      const bytes = bytesOf(`{"x":[${JSON.stringify(filler)},"${text}"]}`);
      expect(() => parseBody(bytes)).toThrow("not valid JSON");
    });
  }
});

describe("truncated JSON says of any bytes what the whole says", () => {
  for (let seed = 1; seed <= (isFast ? 10 : 40); seed += 1) {
    test(`seed ${seed}`, () => {
      const random = seededRandom(seed);
      for (let round = 0; round < 10; round += 1) {
        const bytes = bytesOf(randomBody(random));
        expect(expectSame(bytes)).toBe(0);
        for (let damage = 0; damage < 10; damage += 1) {
          // Half of a pair is counted a byte short; a name that is now there twice, with both its texts.
          expect(expectSame(damaged(bytes, random))).toBeGreaterThanOrEqual(-1);
        }
      }
    });
  }
});

/** By how much the estimate of the truncated JSON is above the whole's. */
function expectSame(bytes: Uint8Array): number {
  const values = truncateStrings(bytes, maxDepth)?.valueCount ?? null;
  if (values !== null) expect(countValues(bytes, Math.floor(bytes.length / 2))).toBe(values);
  const plain = resultOf(() => parsePlainly(bytes));
  const parsed = resultOf(() => parseBody(bytes));
  if (plain instanceof GatewayError || parsed instanceof GatewayError) {
    expect(parsed).toEqual(plain);
    return 0;
  }
  expect(parsed.spans).toEqual(plain.spans);
  expect(parsed.memberCount).toBe(plain.memberCount);
  expectCut(parsed.truncated, plain.truncated, 0);
  for (const kind of ["chat", "responses", "messages", "count_tokens"] as const) {
    expect(verdict(kind, parsed.truncated)).toEqual(verdict(kind, plain.truncated));
  }
  const estimate = estimateInput(plain.truncated, bytes.length);
  const ofTruncated = estimateTruncatedInput(parsed.truncated, bytes.length, parsed.cutBytes) ?? estimate;
  expect(ofTruncated.atMost).toBe(estimate.atMost);
  expect(ofTruncated.unmeasured).toBe(estimate.unmeasured);
  return ofTruncated.tokens - estimate.tokens;
}

function resultOf<Result>(run: () => Result): Result | GatewayError {
  try {
    return run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

function verdict(kind: RequestKind, body: JsonObject) {
  return resultOf(() => validateRequest(kind, body, { hasBetas: true }));
}

/** The same values of the same names in the same order, but for long texts further inside. */
function expectCut(truncated: Json | undefined, whole: Json | undefined, depth: number): void {
  if (typeof whole === "object" && whole !== null) {
    expect(Array.isArray(truncated)).toBe(Array.isArray(whole));
    expect(Object.keys(truncated as JsonObject)).toEqual(Object.keys(whole));
    for (const [name, value] of Object.entries(whole)) {
      expectCut((truncated as JsonObject)[name], value as Json, depth + 1);
    }
  } else if (truncated !== whole) {
    expect(truncated).toBe("~");
    expect((whole as string).length).toBeGreaterThan(10);
    expect(depth).toBeGreaterThan(1);
  }
}

function randomBody(random: SeededRandom): string {
  const members = ["model", "messages", "input", "stream", "tools", "stream_options", "x", "max_tokens"]
    .filter(() => random.chance(0.7))
    .map((name) => member(name, random));
  const conversation = Array.from({ length: 12 }, () => message(random));
  members.splice(random.below(members.length + 1), 0, `"more":[${conversation.join(",")}]`);
  members.push(`"padding":[${JSON.stringify(filler)}]`);
  return `${space(random)}{${members.join(",")}}${space(random)}`;
}

function member(name: string, random: SeededRandom): string {
  if (name === "model") return `"model":${random.chance(0.8) ? '"m"' : text(random)}`;
  if (name === "stream") return `"stream"${space(random)}:${space(random)}true`;
  if (name === "messages" || name === "input") return `"${name}":[${message(random)},${message(random)}]`;
  return `${space(random)}"${name}":${value(random, 0)}${space(random)}`;
}

function message(random: SeededRandom): string {
  const role = random.chance(0.9) ? '"user"' : text(random);
  const type = random.chance(0.05) ? '"type":"image",' : "";
  return `{${type}"role":${role},${space(random)}"content":${random.chance(0.7) ? text(random) : value(random, 2)}}`;
}

function value(random: SeededRandom, depth: number): string {
  const kind = random.below(depth > 5 ? 4 : 7);
  if (kind < 2) return text(random);
  if (kind === 2) return ["0", "-1.5e3", "1e999", "12345678901234567890"][random.below(4)] ?? "0";
  if (kind === 3)
    return ["true", "false", "null", "nul", ""][random.chance(0.98) ? random.below(3) : 4] ?? "";
  const parts = Array.from({ length: random.below(5) }, () => value(random, depth + 1));
  if (kind === 4) return `[${parts.join(`${space(random)},`)}]`;
  return `{${parts.map((part, index) => `"${index}${text(random).slice(1)}${space(random)}:${space(random)}${part}`).join(",")}}`;
}

const pieces = [
  "word ",
  "[{,:}]",
  '\\"',
  "\\\\",
  "\\n",
  "\\u00e9",
  "\\ud83d\\ude00",
  "\\u0041",
  "\\u6f22",
  "é",
  "漢字",
  "😀",
];

function text(random: SeededRandom): string {
  const count = random.below(random.chance(0.5) ? 5 : 60);
  return `"${Array.from({ length: count }, () => pieces[random.below(pieces.length)]).join("")}"`;
}

function space(random: SeededRandom): string {
  return random.chance(0.8) ? "" : " \n\t\r ".slice(random.below(3));
}

const oddBytes = [...bytesOf('"\\{}[],:u x1n'), 0x00, 0x0a, 0x1f, 0x7f, 0x80, 0xc3, 0xff];

/** One byte changed, put in or taken out, or the rest cut off. */
function damaged(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const at = random.below(bytes.length);
  const odd = oddBytes[random.below(oddBytes.length)] ?? 0;
  const kind = random.below(10);
  if (kind === 0) return bytes.subarray(0, at);
  if (kind < 4) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
  const rest = bytes.subarray(kind < 7 ? at : at + 1);
  return Buffer.concat([bytes.subarray(0, at), Uint8Array.of(odd), rest]);
}
