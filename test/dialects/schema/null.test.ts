import { describe, expect, test } from "bun:test";
import { KindGuard, OptionalKind, type TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../../../src/base/json.ts";
import type { MeteredRouteName } from "../../../src/dialects/metered/registry.ts";
import { type RequestKind, requestSchemaOf, validateRequest } from "../../../src/dialects/request-kinds.ts";

const options = { hasBetas: false };

/** Wherever a field stands, what is around it in a valid body. */
const bodies: Readonly<
  Record<
    Exclude<
      RequestKind,
      MeteredRouteName | "gemini" | "input_tokens" | "compact" | "batch" | `conversation${string}`
    >,
    JsonObject
  >
> = {
  chat: {
    model: "m",
    messages: [
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
      },
    ],
  },
  responses: { model: "m", input: [{ role: "user", content: "hi" }] },
  messages: { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] },
  count_tokens: { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] },
};

/** Calls `visit` for every field of an object schema that the value has or could have, at every level. */
function eachField(
  schema: TSchema,
  value: unknown,
  visit: (holder: JsonObject, name: string, isOptional: boolean) => void,
): void {
  if (KindGuard.IsUnion(schema)) for (const member of schema.anyOf) eachField(member, value, visit);
  if (KindGuard.IsArray(schema) && Array.isArray(value)) {
    for (const item of value) eachField(schema.items, item, visit);
  }
  if (!KindGuard.IsObject(schema) || typeof value !== "object" || value === null || Array.isArray(value)) {
    return;
  }
  // The value is JSON that stands above.
  const holder = value as JsonObject;
  for (const [name, field] of Object.entries(schema.properties)) {
    visit(holder, name, OptionalKind in field);
    eachField(field, holder[name], visit);
  }
}

describe.each(Object.entries(bodies))("%s", (name, body) => {
  const kind = name as RequestKind;
  const schema = requestSchemaOf(kind, options);

  function verdictOn(holder: JsonObject, field: string): string {
    const had = Object.hasOwn(holder, field);
    const before = holder[field];
    holder[field] = null;
    try {
      validateRequest(kind, body, options);
      return "accepted";
    } catch (error) {
      return `refused: ${String(error)}`;
    } finally {
      if (had) holder[field] = before;
      else delete holder[field];
    }
  }

  test("null in an optional field counts as absent, at every level", () => {
    const seen: string[] = [];
    eachField(schema, body, (holder, field, isOptional) => {
      if (!isOptional) return;
      seen.push(field);
      expect(`${field} ${verdictOn(holder, field)}`).toBe(`${field} accepted`);
    });
    expect(seen.length).toBeGreaterThan(2);
  });

  test("null in a required field is refused", () => {
    expect(verdictOn(body, "model")).toContain("`model` must be a non-empty string, not null");
    const conversation = kind === "responses" ? "input" : "messages";
    expect(verdictOn(body, conversation)).toContain(`\`${conversation}\` must be`);
  });
});

test("what is said of a wrong value does not advise null", () => {
  const complaint = (body: JsonObject) => {
    try {
      validateRequest("chat", body, options);
    } catch (error) {
      return String(error);
    }
    return "accepted";
  };
  expect(complaint({ ...bodies.chat, user: 5 })).toContain("`user` must be a string, not a number.");
  expect(complaint({ ...bodies.chat, max_tokens: 0 })).toContain(
    "Must not exceed the model's published output limit.",
  );
  expect(complaint({ ...bodies.chat, stop: 5 })).not.toContain("null");
});
