import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import type { Target, TargetedRequest } from "../../src/dialects/contract/provider-dialect.ts";
import {
  openApiParameters,
  openApiSchema,
  ReferenceRoom,
} from "../../src/dialects/gemini/provider/openapi-schema.ts";
import { mergeUsage, readUsage } from "../../src/dialects/gemini/provider/usage-in.ts";
import type { IrTool } from "../../src/dialects/ir/ir.ts";
import { encryptedCharsPerImage, writtenText } from "../../src/dialects/provider-response/produced.ts";
import { providerDialect } from "../../src/dialects/registry.ts";
import { ToolNames } from "../../src/dialects/tools/names.ts";
import { usualTargets } from "./golden-file.ts";

const dialect = providerDialect("gemini");

function targetOf(path: "generate" | "countTokens", request: TargetedRequest): string {
  const target = dialect.paths[path];
  return typeof target === "function" ? target(request) : String(target);
}

describe("where Gemini is asked", () => {
  test("the method is part of the path, and a stream is always server-sent events (G01, G02)", () => {
    const model = "gemini-3.1-pro-preview";
    expect(targetOf("generate", { model, stream: false })).toBe(`/models/${model}:generateContent`);
    expect(targetOf("generate", { model, stream: true })).toBe(
      `/models/${model}:streamGenerateContent?alt=sse`,
    );
    expect(targetOf("countTokens", { model, stream: false })).toBe(`/models/${model}:countTokens`);
  });

  test.each([
    ["models/gemini-2.5-pro", "/models/gemini-2.5-pro:generateContent"],
    ["tunedModels/our-own", "/tunedModels/our-own:generateContent"],
    ["a/b?c=d#e:f", "/models/a%2Fb%3Fc%3Dd%23e%3Af:generateContent"],
    ["models/../keys", "/models/..%2Fkeys:generateContent"],
  ])(
    "G04: the model %s is one segment of the path, and tuned models have a place of their own",
    (model, path) => {
      expect(targetOf("generate", { model, stream: false })).toBe(path);
    },
  );
});

function merged(...chunks: readonly JsonObject[]): JsonObject {
  const figures: JsonObject = {};
  for (const chunk of chunks) mergeUsage(figures, chunk);
  return figures;
}

describe("what Gemini's usage means", () => {
  const figures = (input: number, cached: number, output: number, reasoning: number) => ({
    inputTokens: input,
    cachedInputTokens: cached,
    cacheWriteTokens: 0,
    outputTokens: output,
    reasoningTokens: reasoning,
  });

  const cases: readonly (readonly [string, JsonObject, object])[] = [
    [
      "cached input is within the prompt",
      { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 7, totalTokenCount: 107 },
      figures(40, 60, 7, 0),
    ],
    [
      "thoughts are output beside the candidates",
      { promptTokenCount: 10, candidatesTokenCount: 7, thoughtsTokenCount: 5, totalTokenCount: 22 },
      figures(10, 0, 12, 5),
    ],
    [
      "thoughts are within the candidates if the total says so",
      { promptTokenCount: 10, candidatesTokenCount: 12, thoughtsTokenCount: 5, totalTokenCount: 22 },
      figures(10, 0, 12, 5),
    ],
    [
      "results of Google's tools are input",
      { promptTokenCount: 10, toolUsePromptTokenCount: 30, candidatesTokenCount: 7, totalTokenCount: 47 },
      figures(40, 0, 7, 0),
    ],
    ["no candidates are none", { promptTokenCount: 9, totalTokenCount: 9 }, figures(9, 0, 0, 0)],
    [
      "no candidates but thoughts",
      { promptTokenCount: 9, thoughtsTokenCount: 90, totalTokenCount: 99 },
      figures(9, 0, 90, 90),
    ],
    [
      "candidates that only the total shows",
      { promptTokenCount: 9, totalTokenCount: 29 },
      figures(9, 0, 20, 0),
    ],
  ];

  test.each(cases)("%s (G52)", (_, usage, expected) => {
    expect(readUsage(usage)).toEqual(expected as ReturnType<typeof readUsage>);
  });

  test("figures that make no sense make their side doubtful, and no figures are none (G52)", () => {
    expect(
      readUsage({ promptTokenCount: 10, cachedContentTokenCount: 20, candidatesTokenCount: 1 }),
    ).toMatchObject({ isInputDoubtful: true });
    expect(readUsage({ promptTokenCount: 10, candidatesTokenCount: -1 })).toMatchObject({
      isOutputDoubtful: true,
    });
    expect(readUsage({ promptTokenCount: 10 })).toMatchObject({ inputTokens: 10, isOutputDoubtful: true });
    for (const nothing of [undefined, null, {}, { trafficType: "ON_DEMAND" }, []]) {
      expect(readUsage(nothing)).toBeNull();
    }
  });

  test("a search is paid for by the query, so its results are no input, in whichever chunk it shows (G52, G53)", () => {
    const grounded = { candidates: [{ groundingMetadata: { webSearchQueries: ["rain"] } }] };
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 30,
      candidatesTokenCount: 7,
      totalTokenCount: 47,
    };
    const searched = merged({ ...grounded, usageMetadata: { promptTokenCount: 10 } }, { usageMetadata });
    expect(readUsage(searched)).toEqual(figures(10, 0, 7, 0));
  });

  test("later figures replace earlier ones field by field, and are never added (G53)", () => {
    const chunks: JsonObject[] = [
      { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1, totalTokenCount: 11 } },
      { usageMetadata: { trafficType: "ON_DEMAND" } },
      {},
      { usageMetadata: { candidatesTokenCount: 4, totalTokenCount: 14, thoughtsTokenCount: null } },
    ];
    expect(readUsage(merged(...chunks))).toEqual(figures(10, 0, 4, 0));
  });
});

describe("what Gemini wrote, for a count if it reports no usage,", () => {
  const chunk = {
    candidates: [
      { index: 1, content: { parts: [{ text: "second" }] } },
      {
        index: 0,
        content: {
          parts: [
            { text: "first" },
            { functionCall: { name: "look", args: { at: "sea" } } },
            { executableCode: { language: "PYTHON", code: "print(1)" } },
          ],
        },
        groundingMetadata: { groundingSupports: [{ segment: { text: "first" } }] },
      },
    ],
  };
  const parts = ["second", "first", "look", '{"at":"sea"}', "print(1)"];

  test("is the text of all candidates in a stream", () => {
    const data = JSON.stringify(chunk);
    const events = dialect.createStreamReader({ target: usualTargets.gemini }).read({ event: "", data });
    expect(events.find((event) => event.type === "written")).toMatchObject({ text: parts.join("") });
    const shown = events.filter((event) => event.type === "delta").map((event) => event.text);
    expect(shown).toEqual(["first", '{"at":"sea"}']);
  });

  test("is the text of all candidates in a whole response", () => {
    expect(writtenText(chunk.candidates)).toBe(parts.join(""));
  });

  test("is an image", () => {
    const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
    const data = JSON.stringify({ candidates: [{ content: { parts: [image] } }] });
    const events = dialect.createStreamReader({ target: null }).read({ event: "", data });
    expect(events.find((event) => event.type === "written")).toMatchObject({
      encryptedChars: encryptedCharsPerImage,
    });
  });
});

describe("how Gemini is asked to count", () => {
  const target: Target = {
    dialect,
    upstreamModel: "gemini-3.1-pro-preview",
    provider: "p",
    isStrict: true,
    maxOutputTokens: null,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: {},
  };
  const body = {
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    systemInstruction: { parts: [{ text: "Be brief." }] },
    tools: [],
  };

  test("instructions and tools only count within a whole request (G68)", () => {
    const model = "models/gemini-3.1-pro-preview";
    expect(dialect.countTokens?.writeRequest(body, target)).toEqual({
      generateContentRequest: { model, ...body },
    });
    expect(dialect.countTokens?.countField).toBe("totalTokens");
  });

  test("Vertex takes them as they are, without what does not count (G68)", () => {
    const vertex = { ...target, capabilities: { bare_token_counts: true } };
    expect(dialect.countTokens?.writeRequest({ ...body, safetySettings: [] }, vertex)).toEqual(body);
  });
});

describe("schemas of tools as agents have them (T07)", () => {
  const text = { type: "string", description: "A text." };
  const tools: Readonly<Record<string, JsonObject>> = {
    Bash: {
      type: "object",
      properties: {
        command: text,
        timeout: { type: "number", maximum: 600_000 },
        run_in_background: { type: "boolean" },
      },
      required: ["command"],
      additionalProperties: false,
      $schema: "http://json-schema.org/draft-07/schema#",
    },
    Grep: {
      type: "object",
      properties: {
        pattern: text,
        "-A": { type: "number" },
        "-i": { type: "boolean" },
        output_mode: { type: "string", enum: ["content", "files_with_matches", "count"] },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    TodoWrite: {
      type: "object",
      properties: {
        todos: {
          type: "array",
          items: {
            type: "object",
            properties: {
              content: { type: "string", minLength: 1 },
              status: { type: "string", enum: ["pending", "in_progress", "completed"] },
            },
            required: ["content", "status"],
            additionalProperties: false,
          },
        },
      },
      required: ["todos"],
    },
    Edit: {
      type: "object",
      properties: { file_path: text, replace_all: { type: "boolean", default: false } },
      required: ["file_path"],
    },
    ExitPlanMode: { type: "object", properties: {}, additionalProperties: {} },
    shell: {
      type: "object",
      properties: {
        command: { type: "array", items: { type: "string" } },
        workdir: { type: ["string", "null"] },
      },
      required: ["command"],
      additionalProperties: false,
    },
    update_plan: {
      type: "object",
      properties: { plan: { type: "array", items: { $ref: "#/definitions/step" } } },
      definitions: {
        step: { type: "object", properties: { step: text, sub: { $ref: "#/definitions/step" } } },
      },
    },
    any: {
      properties: {
        value: {},
        flag: true,
        level: { enum: [1, 2, 3] },
        kind: { const: "a" },
        choice: { oneOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] },
      },
    },
    tuple: {
      type: "object",
      properties: { pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] } },
    },
    unresolved: { type: "object", properties: { lost: { $ref: "#/$defs/nowhere" }, odd: { $ref: "#/%zz" } } },
    pointers: {
      type: "object",
      properties: {
        a: { type: "object", properties: { "x/y": text } },
        b: { $ref: "#/properties/a/properties/x~1y" },
      },
    },
    conditions: {
      type: "object",
      properties: { a: text, b: text },
      required: ["a", "missing"],
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    union: {
      type: "object",
      properties: {
        union: { description: "One of both.", anyOf: [text, { type: "integer" }, { type: "null" }] },
        named: { $ref: "#/$defs/id", description: "Whose." },
        several: { type: ["string", "number", "null"], description: "Either." },
        mixed: { enum: ["a", 1, null] },
        nothing: { type: "null" },
        flag: { const: true },
        stamp: { type: "string", format: "int64" },
        at: { type: "number", format: "double" },
      },
      $defs: { id: { type: "string", format: "uuid" } },
    },
  };

  test("a schema whose definitions refer to each other many times stays small (T07)", () => {
    const levels = Array.from({ length: 30 }, (_, at) => [
      `d${at}`,
      {
        type: "object",
        properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } },
      },
    ]);
    const schema = { properties: { a: { $ref: "#/$defs/d0" } }, $defs: Object.fromEntries(levels) };
    const written = JSON.stringify(openApiSchema(schema)).length;
    expect(written).toBeLessThan(100_000);
    const room = new ReferenceRoom();
    const all = Array.from({ length: 20 }, () => JSON.stringify(openApiParameters(schema, room)));
    expect(all.join("").length).toBeLessThan(written + 20 * 1000);
  });

  test.each([
    ["a property", (each: JsonObject[]) => ({ properties: Object.fromEntries(each.entries()) })],
    ["an alternative", (anyOf: JsonObject[]) => ({ anyOf })],
    ["a part", (allOf: JsonObject[]) => ({ properties: { all: { type: "object", allOf } } })],
  ])("T07: a long definition is not repeated at will as %s", (_, schemaOf) => {
    const long = { type: "object", properties: { a: { type: "string", description: "x".repeat(20_000) } } };
    const references = Array.from({ length: 1000 }, () => ({ $ref: "#/$defs/long" }));
    const schema = { ...schemaOf(references), $defs: { long } };
    const written = JSON.stringify(openApiSchema(schema));
    expect(written).toContain("x".repeat(20_000));
    expect(written.length).toBeLessThan(150_000);
  });

  test("every keyword that both know is kept as it is (T07)", () => {
    const kept = {
      ...{ title: "T", description: "D", propertyOrdering: ["a"], default: 1, example: 2, pattern: "p" },
      ...{ minimum: 1, maximum: 2, minItems: 3, maxItems: 4, minLength: 5, maxLength: 6 },
      ...{ minProperties: 7, maxProperties: 8, nullable: true },
    };
    expect(openApiSchema({ type: "string", ...kept, $comment: "c", exclusiveMinimum: 1 })).toEqual({
      type: "STRING",
      ...kept,
    });
  });

  test("a reference may point anywhere in the schema, and keeps its own description (T07)", () => {
    const { properties } = openApiSchema(tools["pointers"] ?? {});
    expect(properties).toMatchObject({ b: { type: "STRING" } });
    expect(openApiSchema(tools["union"] ?? {})["properties"]).toMatchObject({
      named: { type: "STRING", description: "Whose." },
    });
  });

  test("parameters are one object, also where they are several in the schema (T07)", () => {
    const one = { type: "object", properties: { a: text, b: text }, required: ["a", "b"] };
    const other = { type: "object", properties: { a: text, c: text }, required: ["a", "c"] };
    expect(openApiParameters({ anyOf: [one, other] })).toEqual({
      type: "OBJECT",
      properties: { a: openApiSchema(text), b: openApiSchema(text), c: openApiSchema(text) },
      required: ["a"],
    });
    expect(openApiParameters({ additionalProperties: { type: "string" } })).toBeNull();
    expect(openApiParameters({ anyOf: [{ type: "object" }, { type: "object" }] })).toBeNull();
  });

  const allowed = new Set([
    ...["type", "format", "title", "description", "nullable", "enum", "items", "properties", "required"],
    ...["propertyOrdering", "anyOf", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"],
    ...["minProperties", "maxProperties", "pattern", "default", "example"],
  ]);

  function check(schema: Json | undefined, path: string): void {
    const { properties, items, anyOf, type, ...rest } = schema as JsonObject;
    for (const keyword of Object.keys(schema as JsonObject))
      expect(allowed.has(keyword), `${path}.${keyword}`).toBe(true);
    if (anyOf === undefined)
      expect(["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"], path).toContain(type as string);
    else expect(Object.keys(schema as JsonObject), path).toEqual(["anyOf"]);
    for (const name of (rest["required"] ?? []) as string[]) expect(properties, path).toHaveProperty([name]);
    if (type === "ARRAY") expect(items, path).toBeDefined();
    for (const value of (rest["enum"] ?? []) as Json[]) expect(typeof value, path).toBe("string");
    for (const [name, property] of Object.entries((properties ?? {}) as JsonObject))
      check(property, `${path}.${name}`);
    for (const [index, nested] of ((anyOf ?? []) as Json[]).entries())
      check(nested, `${path}.anyOf[${index}]`);
    if (items !== undefined) check(items, `${path}.items`);
  }

  test.each(Object.entries(tools))(
    "T07: %s has only keywords that models before 2.5 know",
    (name, schema) => {
      check(openApiSchema({ type: "object", ...schema }), name);
    },
  );

  test("names that begin with a digit, or are too long, are legal and given back (T07)", () => {
    const named = ["3d", "x".repeat(65), "y".repeat(129), "a b/c"].map(
      (name): IrTool => ({
        type: "function",
        kind: "function",
        namespace: null,
        name,
        description: null,
        schema: null,
        strict: null,
      }),
    );
    const names = new ToolNames({ tools: named, messages: [] }, dialect.toolRules);
    for (const tool of named) {
      if (tool.type === "hosted") continue;
      const legal = names.provider(tool);
      expect(legal).toMatch(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/);
      expect(names.client(legal).name).toBe(tool.name);
    }
  });
});
