import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  ApiError,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  GoogleGenAI,
  HarmBlockThreshold,
  HarmCategory,
  MediaResolution,
  ServiceTier,
  ThinkingLevel,
} from "@google/genai";
import type { JsonObject } from "../../src/base/json.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { question } from "./parameters/parameters.ts";
import { startWorld, type World } from "./world.ts";

/** As `parameters.test.ts`, for Google's package, whose parameters are two levels deep and can be rejected by the package itself. */

type Sent = Omit<GenerateContentConfig, "httpOptions" | "abortSignal">;

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const functionDeclarations = [
  { name: "get_weather", description: "The weather.", parametersJsonSchema: schema },
];

/** A package with a new parameter does not compile until it has a line here. */
const parameters: { readonly [Name in keyof Sent]-?: NonNullable<Sent[Name]> } = {
  serviceTier: ServiceTier.PRIORITY,
  systemInstruction: "Be brief.",
  temperature: 0.2,
  topP: 0.9,
  topK: 7,
  candidateCount: 2,
  maxOutputTokens: 500,
  stopSequences: ["END"],
  responseLogprobs: true,
  logprobs: 2,
  presencePenalty: 0.5,
  frequencyPenalty: 0.5,
  seed: 7,
  responseMimeType: "application/json",
  responseSchema: schema,
  responseJsonSchema: schema,
  routingConfig: { manualMode: { modelName: "gemini-3-ultra" } },
  modelSelectionConfig: {},
  safetySettings: [
    { category: HarmCategory.HARM_CATEGORY_HARASSMENT, threshold: HarmBlockThreshold.BLOCK_NONE },
  ],
  tools: [{ functionDeclarations }],
  toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
  labels: { project: "atlas" },
  cachedContent: "cachedContents/1",
  responseModalities: ["IMAGE"],
  mediaResolution: MediaResolution.MEDIA_RESOLUTION_LOW,
  speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } },
  audioTimestamp: true,
  automaticFunctionCalling: { disable: true },
  thinkingConfig: { thinkingLevel: ThinkingLevel.HIGH, includeThoughts: true },
  audioTranscriptionConfig: {},
  imageConfig: { aspectRatio: "1:1" },
  enableEnhancedCivicAnswers: true,
  modelArmorConfig: { promptTemplateName: "template" },
  continuationToken: "token",
  automaticContinuation: true,
  generationOutputConfig: {},
  store: true,
};

const needed: Readonly<Record<string, GenerateContentConfig>> = {
  toolConfig: { tools: [{ functionDeclarations }] },
  responseSchema: { responseMimeType: "application/json" },
  responseJsonSchema: { responseMimeType: "application/json" },
};

/** What the package keeps to itself, or answers for. */
const ofThePackage = ["automaticFunctionCalling", "automaticContinuation"];

const providers = ["chat", "responses", "messages", "gemini"] as const;

let world: World<ScriptedProvider>;

beforeAll(async () => {
  world = await startWorld(startProvider(inItsDialect));
}, 120_000);

afterAll(() => world.dispose());

function inItsDialect({ path }: SeenRequest) {
  const dialect = providers.find((name) => path.endsWith(endings[name])) ?? "chat";
  return answerFrom(`${dialect}/text.json`);
}

const endings = {
  chat: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
  gemini: ":generateContent",
};

interface Outcome {
  readonly rejected: string | null;
  readonly dropped: readonly string[];
  readonly sent: JsonObject | undefined;
}

async function ask(provider: (typeof providers)[number], config: GenerateContentConfig): Promise<Outcome> {
  world.provider.reset();
  world.provider.script(inItsDialect);
  const { url, key, model } = world.access(provider);
  const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
  try {
    const answer = await client.models.generateContent({ model, contents: question, config });
    expect(answer.text).not.toBe("");
    const dropped = answer.sdkHttpResponse?.headers?.["x-sluice-dropped"]?.split(", ") ?? [];
    return { rejected: null, dropped, sent: world.provider.requests[0]?.body };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    expect(world.provider.requests).toEqual([]);
    return {
      rejected: `${error instanceof ApiError ? "" : "package: "}${error.message}`,
      dropped: [],
      sent: undefined,
    };
  }
}

function fateOf(name: string, before: Outcome, after: Outcome): string {
  const { rejected, dropped } = after;
  if (rejected?.startsWith("package: ") === true) return "not sent";
  if (rejected !== null)
    return rejected.includes(name) ? "rejected" : `rejected without its name: ${rejected}`;
  if (dropped.some((field) => field.replace("generationConfig.", "").startsWith(name))) return "dropped";
  return Bun.deepEquals(before.sent, after.sent) ? "GONE" : "carried";
}

describe("every parameter of Google's package", () => {
  test.each([...providers])("has a fate on a provider of %s", async (provider) => {
    const fates: Record<string, string> = {};
    for (const [name, value] of Object.entries(parameters)) {
      const without = needed[name] ?? {};
      fates[name] = fateOf(
        name,
        await ask(provider, without),
        await ask(provider, { ...without, [name]: value }),
      );
    }
    const gone = Object.entries(fates).filter(
      ([name, fate]) =>
        !["carried", "dropped", "rejected", "not sent"].includes(fate) && !ofThePackage.includes(name),
    );
    expect(gone).toEqual([]);
    if (provider === "gemini") expect(Object.values(fates)).not.toContain("dropped");
  });
});
