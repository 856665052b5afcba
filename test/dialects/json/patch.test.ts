import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { governedNames, scanTopLevel } from "../../../src/dialects/json/json-spans.ts";
import { type BodyChanges, changedBody, patchBody } from "../../../src/dialects/json/patch.ts";
import { openAiChat } from "../../../src/dialects/openai-chat/index.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";

function patch(text: string, changes: BodyChanges): string {
  const bytes = new TextEncoder().encode(text);
  return new TextDecoder().decode(patchBody(bytes, scanTopLevel(bytes), changes));
}

describe("patching a body", () => {
  test("replaces a value and leaves every other byte as it was", () => {
    const before = '\n{ "temperature" : 1.0e0, "model"\t: "a" ,"x":[ 1,2 ], "big": 12345678901234567890 } \n';
    expect(patch(before, { model: "b" })).toBe(before.replace('"a"', '"b"'));
  });

  test("inserts what is not there after the opening brace", () => {
    expect(patch(' { "x": 1 }', { max_tokens: 5, stream: true })).toBe(
      ' {"max_tokens":5,"stream":true, "x": 1 }',
    );
    expect(patch("{ }", { n: 1 })).toBe('{"n":1 }');
  });

  test("takes members out with one comma each", () => {
    expect(patch('{"n":1,"x":2}', { n: undefined })).toBe('{"x":2}');
    expect(patch('{"x":2,"n":1}', { n: undefined })).toBe('{"x":2}');
    expect(patch('{"n":1}', { n: undefined })).toBe("{}");
    expect(patch('{"n":1,"stream":true,"x":2}', { n: undefined, stream: undefined })).toBe('{"x":2}');
    expect(patch('{"x":2,"n":1,"stream":true}', { n: undefined, stream: undefined })).toBe('{"x":2}');
    expect(patch('{"n":1,"stream":true}', { n: undefined, stream: undefined, model: "m" })).toBe(
      '{"model":"m"}',
    );
  });

  test("does not take a name inside of a value or a text for a member", () => {
    const before = '{"messages":[{"model":"x"},"\\"model\\":\\"y\\""],"model":"a"}';
    expect(patch(before, { model: "b" })).toBe(before.replace('"a"', '"b"'));
  });

  test("finds a name that is spelled with an escape", () => {
    expect(patch('{"mod\\u0065l":"a"}', { model: "b" })).toBe('{"mod\\u0065l":"b"}');
  });

  test("merges include_usage into the stream options that are there", () => {
    const asked = (text: string) => {
      const changes = openAiChat.provider.passthrough?.usageOption?.changes(JSON.parse(text)) ?? {};
      return patch(text, changes);
    };
    expect(asked('{"x":1}')).toBe('{"stream_options":{"include_usage":true},"x":1}');
    expect(asked('{"stream_options":null}')).toBe('{"stream_options":{"include_usage":true}}');
    expect(asked('{"stream_options":{}}')).toBe('{"stream_options":{"include_usage":true}}');
    expect(asked('{"stream_options":{"a":1,"include_usage":false}}')).toBe(
      '{"stream_options":{"a":1,"include_usage":true}}',
    );
  });

  test("sets members within Google's configuration, of which a change has no others", () => {
    const before = '{"generationConfig": { "topK" : 1.0,"maxOutputTokens":9 },"x":1}';
    expect(patch(before, { generationConfig: { maxOutputTokens: 5 } })).toBe(before.replace("9", "5"));
    expect(changedBody(JSON.parse(before), { generationConfig: { maxOutputTokens: 5 }, model: "m" })).toEqual(
      {
        generationConfig: { topK: 1, maxOutputTokens: 5 },
        model: "m",
        x: 1,
      },
    );
  });

  test("gives the same bytes back when nothing changes", () => {
    const bytes = new TextEncoder().encode('{"model":"m"}');
    expect(patchBody(bytes, scanTopLevel(bytes), {})).toBe(bytes);
  });

  test("agrees with JSON.parse on random bodies and changes", () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const random = seededRandom(seed);
      const body = randomObject(random);
      const changes: Record<string, Json | undefined> = {};
      for (const name of governedNames) {
        if (random.chance(0.3)) changes[name] = random.chance(0.3) ? undefined : randomValue(random, 2);
      }
      const expected = changedBody(body, changes);
      const text = spacedJson(body, random);
      expect(JSON.parse(patch(text, changes)), `seed ${seed}: ${text}`).toEqual(
        JSON.parse(JSON.stringify(expected)),
      );
    }
  });
});

const awkwardTexts = [
  "",
  "a",
  '"',
  "\\",
  '\\"',
  "{[",
  "]}",
  ",:",
  "é\u{1F600}",
  "\n",
  "x".repeat(60),
  `${"\\".repeat(31)}"`,
];

function randomObject(random: SeededRandom): JsonObject {
  const body: JsonObject = {};
  for (const name of [...governedNames, "messages", "", "a\\", 'b"', "modèl", "models"]) {
    if (random.chance(0.5)) body[name] = randomValue(random, 3);
  }
  return body;
}

function randomValue(random: SeededRandom, depth: number): Json {
  const kind = random.below(depth === 0 ? 4 : 6);
  if (kind === 0) return random.pick([0, -1, 1.5, 1e21, 123]);
  if (kind === 1) return random.pick([true, false, null]);
  if (kind <= 3) return random.pick(awkwardTexts) + random.pick(awkwardTexts);
  if (kind === 4) return Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1));
  return {
    model: randomValue(random, depth - 1),
    [random.pick(awkwardTexts)]: randomValue(random, depth - 1),
  };
}

/** JSON with white space wherever it may stand. */
function spacedJson(value: Json | undefined, random: SeededRandom): string {
  const space = () => random.pick(["", "", " ", "\n", "\t\r\n "]);
  const body =
    typeof value === "object" && value !== null
      ? Array.isArray(value)
        ? `[${value.map((item) => spacedJson(item, random)).join(",")}${value.length === 0 ? space() : ""}]`
        : `{${Object.entries(value)
            .map(([name, item]) => `${space()}${JSON.stringify(name)}${space()}:${spacedJson(item, random)}`)
            .join(",")}${space()}}`
      : JSON.stringify(value);
  return `${space()}${body}${space()}`;
}
