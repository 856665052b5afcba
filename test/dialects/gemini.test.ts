import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { mergeUsage, readUsage } from "../../src/dialects/gemini/provider/usage-in.ts";
import type { Target, TargetedRequest } from "../../src/dialects/provider-dialect.ts";
import { providerDialect } from "../../src/dialects/registry.ts";

const dialect = providerDialect("gemini");

function targetOf(path: "generate" | "countTokens", request: TargetedRequest): string {
  const target = dialect.paths[path];
  return typeof target === "function" ? target(request) : String(target);
}

describe("where Gemini is asked", () => {
  test("G01, G02: the method is part of the path, and a stream is always server-sent events", () => {
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

  test.each(cases)("G52: %s", (_, usage, expected) => {
    expect(readUsage(usage)).toEqual(expected as ReturnType<typeof readUsage>);
  });

  test("G52: figures that make no sense make their side doubtful, and no figures are none", () => {
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

  test("G52, G53: a search is paid for by the query, so its results are no input, in whichever chunk it shows", () => {
    const grounded = { candidates: [{ groundingMetadata: { webSearchQueries: ["rain"] } }] };
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 30,
      candidatesTokenCount: 7,
      totalTokenCount: 47,
    };
    const merged = mergeUsage(mergeUsage({}, { ...grounded, usageMetadata: { promptTokenCount: 10 } }), {
      usageMetadata,
    });
    expect(readUsage(merged)).toEqual(figures(10, 0, 7, 0));
  });

  test("G53: later figures replace earlier ones field by field, and are never added", () => {
    const chunks: JsonObject[] = [
      { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1, totalTokenCount: 11 } },
      { usageMetadata: { trafficType: "ON_DEMAND" } },
      {},
      { usageMetadata: { candidatesTokenCount: 4, totalTokenCount: 14, thoughtsTokenCount: null } },
    ];
    expect(readUsage(chunks.reduce(mergeUsage, {}))).toEqual(figures(10, 0, 4, 0));
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

  test("G68: instructions and tools only count within a whole request", () => {
    const model = "models/gemini-3.1-pro-preview";
    expect(dialect.countTokens?.writeRequest(body, target)).toEqual({
      generateContentRequest: { model, ...body },
    });
    expect(dialect.countTokens?.countField).toBe("totalTokens");
  });

  test("G68: Vertex takes them as they are, without what does not count", () => {
    const vertex = { ...target, capabilities: { bare_token_counts: true } };
    expect(dialect.countTokens?.writeRequest({ ...body, safetySettings: [] }, vertex)).toEqual(body);
  });
});
