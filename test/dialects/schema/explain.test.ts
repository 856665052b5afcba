import { describe, expect, test } from "bun:test";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import {
  betaMessagesRequest,
  countTokensRequest,
  messagesRequest,
} from "../../../src/dialects/anthropic-messages/client/schema.ts";
import { chatRequest } from "../../../src/dialects/openai-chat/client/schema.ts";
import { responsesRequest } from "../../../src/dialects/openai-responses/client/schema.ts";
import { explain } from "../../../src/dialects/schema/explain.ts";
import { isFast } from "../../support/effort.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";

const schemas = { chatRequest, responsesRequest, messagesRequest, betaMessagesRequest, countTokensRequest };

/** A body with every known field, each valid in at least one dialect; the fuzz below spoils some. */
const complete: JsonObject = {
  model: "m",
  messages: [
    { role: "system", content: "x" },
    { role: "user", content: [{ type: "text", text: "x" }], name: "n" },
    {
      role: "assistant",
      content: "y",
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "" } }],
    },
  ],
  input: [{ role: "user" }],
  instructions: "x",
  system: [{ type: "text" }],
  stream: true,
  max_tokens: 5,
  max_completion_tokens: 5,
  max_output_tokens: 5,
  temperature: 1,
  top_p: 1,
  top_k: 1,
  stop: ["a"],
  stop_sequences: ["a"],
  tools: [{}],
  tool_choice: {},
  user: "u",
  metadata: {},
};

const spoilers: readonly (Json | undefined)[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  3,
  1e300,
  "",
  "x",
  "system",
  "function",
  [],
  {},
  [5],
  [null],
  ["a", "b", "c", "d", "e"],
  [{}],
  [[]],
];

/** Replaces some values anywhere in a body by values of any type. */
function spoil(value: Json, random: SeededRandom, probability: number): Json | undefined {
  if (random.chance(probability))
    return structuredClone(random.pick(spoilers.map((spoiler) => ({ spoiler }))).spoiler);
  if (Array.isArray(value)) return value.map((item) => spoil(item, random, probability) ?? null);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, item]) => [
    name,
    spoil(item ?? null, random, probability),
  ]);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

function at(body: JsonObject, param: string): unknown {
  const path = param.split(/[.[\]]+/).filter((step) => step !== "");
  return path.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], body);
}

describe("the explanation of a refusal", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    test(`agrees with the compiled check of ${name}, and points at a field`, () => {
      const check = TypeCompiler.Compile(schema);
      let refusals = 0;
      for (let seed = 1; seed <= (isFast ? 1000 : 4000); seed += 1) {
        const random = seededRandom(seed);
        const body = spoil(complete, random, random.pick([0, 0.01, 0.05])) as JsonObject;
        if (typeof body !== "object" || body === null || Array.isArray(body)) continue;
        const complaint = explain(schema, body);
        expect(complaint === null, `seed ${seed}: ${JSON.stringify(body)}`).toBe(check.Check(body));
        if (complaint === null) continue;
        refusals += 1;
        const paths = [...Value.Errors(schema, body)].map((error) => error.path);
        const pointer = `/${complaint.param.replaceAll(/[.[]/g, "/").replaceAll("]", "")}`;
        expect(
          paths.some((path) => pointer.startsWith(path)),
          `seed ${seed}: ${complaint.param}`,
        ).toBe(true);
        expect(complaint.message).toContain(
          at(body, complaint.param) === undefined ? "is missing" : "must be",
        );
      }
      expect(refusals).toBeGreaterThan(100);
    });
  }
});
