import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Caller, World } from "../../gateway/world.ts";
import { json, sse } from "../../support/answers.ts";
import { waitFor } from "../../support/wait.ts";
import {
  called,
  chunkOf,
  googleError,
  sentinel,
  startFakeGemini,
  usageOf,
} from "../../vendors/gemini/fake-gemini.ts";

/** What costs more than a request's tokens, or a multiple of them, with prices that are computed here. */

const fake = startFakeGemini();
const upstream = "gemini-3.1-pro-preview";
const model = (id: string, provider: string, more: string) => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
context_window = 100000
max_output_tokens = 4000
${more}
`;
const plain = "price = { input = 1.0, output = 2.0 }";
const tail = `
[providers.gemini]
kind = "gemini"
base_url = "${fake.url}"
api_key = "env:TEST_GEMINI_KEY"
[providers.as-chat]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
dialects = ["chat"]
${model("plain", "gemini", plain)}
${model("rich", "gemini", "price = { input = 1.0, output = 2.0, audio_input = 8.0, audio_output = 20.0, tiers.flex = { input = 0.5, output = 1.0 } }")}
${model("rich-chat", "as-chat", "price = { input = 1.0, output = 2.0, audio_output = 20.0 }")}
${model("drawing", "gemini", "price = { input = 1.0, output = 2.0, cached_input = 0.1, cached_audio_input = 0.5, audio_input = 8.0, image_input = 3.0, image_output = 30.0 }")}
${model("by-query", "gemini", `price = { input = 1.0, output = 2.0, web_search = 14.0 }`)}
${model("by-prompt", "gemini", `price = { input = 1.0, output = 2.0, web_search_prompts = 35.0 }`)}
${model("free-tools", "gemini", `${plain}\nallow = ["tools.googleSearch"]`)}
${model("on-chat", "as-chat", plain)}`;

let world: World;
let caller: Caller;

beforeAll(async () => {
  world = await World.start({ tail });
}, 120_000);
beforeEach(async () => {
  fake.requests.length = 0;
  fake.say(null);
  caller = await world.creditCaller();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  fake.stop();
});

const contents = [{ role: "user", parts: [{ text: "x" }] }];

function ask(path: string, body: JsonObject, by = caller, headers: Record<string, string> = {}) {
  return fetch(`${world.running.url}/v1beta/models/${path}`, {
    method: "POST",
    headers: { "x-goog-api-key": by.secret, ...headers },
    body: JSON.stringify(body),
  });
}

interface GoogleError {
  readonly status: string;
  readonly message: string;
  readonly details: readonly { readonly fieldViolations?: readonly { readonly field: string }[] }[];
}

async function errorOf(response: Response): Promise<GoogleError> {
  return ((await response.json()) as { error: GoogleError }).error;
}

/** The field of a 400. */
async function rejected(body: JsonObject, id = "plain"): Promise<string | undefined> {
  const response = await ask(`${id}:generateContent`, { contents, ...body });
  expect(response.status).toBe(400);
  return (await errorOf(response)).details[1]?.fieldViolations?.[0]?.field;
}

async function heldFor(generationConfig: JsonObject): Promise<number> {
  const poor = await world.creditCaller(0);
  const response = await ask("plain:generateContent", { contents, generationConfig }, poor);
  expect(response.status).toBe(402);
  const { message } = await errorOf(response);
  expect(message).toContain("Lower `generationConfig.maxOutputTokens`, or");
  const stored = { keyId: poor.key.id, limit: 1 };
  const rows = async () => (await world.running.store.reports.exchanges(stored)).rows;
  await waitFor(async () => (await rows()).length === 1, "the stored request");
  expect(await rows()).toMatchObject([{ message, bound: "balance", needed: expect.any(Number) }]);
  return Number(/up to ([\d.e-]+) credits/.exec(message)?.[1]);
}

test("each candidate is held for, and what all of them wrote is charged", async () => {
  const one = await heldFor({ maxOutputTokens: 1000 });
  const three = await heldFor({ max_output_tokens: 1000, candidateCount: 3 });
  expect(three - one).toBeCloseTo((2 * 1000 * 2) / 1e6, 4);
  const candidate = (index: number) => ({
    content: { role: "model", parts: [{ text: "four words are here" }] },
    finishReason: "STOP",
    index,
  });
  fake.say(json({ candidates: [0, 1, 2].map(candidate), usageMetadata: usageOf(10, 30) }));
  const body = { contents, generationConfig: { maxOutputTokens: 1000, candidateCount: 3 } };
  expect(await (await ask("plain:generateContent", body)).json()).toHaveProperty("candidates.2");
  expect(fake.requests[0]?.body).toEqual(body);
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -(10 + 30 * 2) * 1000, basis: "measured" }]);
  fake.say(json({ candidates: [0, 1, 2].map(candidate) }));
  caller = await world.creditCaller();
  await ask("plain:generateContent", body);
  const [{ amount } = { amount: 0 }] = await world.chargesOf(caller);
  expect(-amount).toBeGreaterThanOrEqual(3 * 4 * 2 * 1000);
});

test("what no other dialect has is rejected by name where it has to be translated", async () => {
  expect(await rejected({ generationConfig: { candidateCount: 2 } }, "on-chat")).toBe(
    "generationConfig.candidateCount",
  );
  expect(await rejected({ generationConfig: { responseLogprobs: true } }, "on-chat")).toBe(
    "generationConfig.responseLogprobs",
  );
});

test("a tier passes where it has a price, and is charged at it", async () => {
  expect(await rejected({ serviceTier: "flex" })).toBe("serviceTier");
  expect(await rejected({ service_tier: "SERVICE_TIER_PRIORITY" }, "rich")).toBe("serviceTier");
  fake.say(json(chunkOf([{ text: "a" }], usageOf(1000, 100), "STOP")));
  expect((await ask("rich:generateContent", { contents, serviceTier: "flex" })).status).toBe(200);
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -(1000 * 500 + 100 * 1000) }]);
});

test("other output than text needs a price", async () => {
  const field = "generationConfig.responseModalities";
  for (const responseModalities of [["TEXT", "IMAGE"], "AUDIO"])
    expect(await rejected({ generationConfig: { responseModalities } })).toBe(field);
  const usage = usageOf(100, 40, 0, { candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 40 }] });
  fake.say(json(chunkOf([{ inlineData: { mimeType: "audio/wav", data: "UklGRg==" } }], usage, "STOP")));
  const generationConfig = { responseModalities: ["AUDIO"] };
  expect((await ask("rich:generateContent", { contents, generationConfig })).status).toBe(200);
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -(100 * 1000 + 40 * 20_000) }]);
});

test.each([
  ["speechConfig", { speech_config: { voiceConfig: {} } }, "price.audio_output"],
  ["responseFormat.audio", { responseFormat: { audio: {} } }, "price.audio_output"],
  ["responseFormat.image", { response_format: { image: {} } }, 'allow = ["modalities"]'],
  ["imageConfig", { imageConfig: { aspectRatio: "1:1" } }, 'allow = ["modalities"]'],
] as const)("%s alone asks for that output, and needs its price", async (field, generationConfig, remedy) => {
  for (const id of ["plain", "on-chat"]) {
    const response = await ask(`${id}:generateContent`, { contents, generationConfig });
    const { message } = await errorOf(response);
    expect(message).toStartWith(`\`generationConfig.${field}\` `);
    expect(message).toContain(remedy);
  }
  const status = remedy === "price.audio_output" ? 200 : 400;
  expect((await ask("rich:generateContent", { contents, generationConfig })).status).toBe(status);
  const translated = await ask("rich-chat:generateContent", { contents, generationConfig });
  expect((await errorOf(translated)).message).toStartWith(`\`generationConfig.${field}\` `);
});

test("sound needs a price, and is charged at it", async () => {
  const sound = { inline_data: { mime_type: "audio/wav", data: "UklGRg==" } };
  const spoken = [{ role: "user", parts: [sound] }];
  expect(await rejected({ contents: spoken })).toBe("contents[0].parts[0].inline_data");
  const usage = usageOf(50, 10, 0, { promptTokensDetails: [{ modality: "AUDIO", tokenCount: 30 }] });
  fake.say(json(chunkOf([{ text: "a" }], usage, "STOP")));
  expect((await ask("rich:generateContent", { contents: spoken })).status).toBe(200);
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -(20 * 1000 + 30 * 8000 + 10 * 2000) }]);
});

/** As a whole response and as a stream, whose last chunk has the figures. */
async function amountsOf(id: string, answer: JsonObject, body: JsonObject): Promise<number[]> {
  fake.say(json(answer));
  expect((await ask(`${id}:generateContent`, { contents, ...body })).status).toBe(200);
  fake.say(sse(`data: ${JSON.stringify(answer)}\n\n`));
  const streamed = await ask(`${id}:streamGenerateContent?alt=sse`, { contents, ...body });
  expect(streamed.status).toBe(200);
  await streamed.text();
  return (await world.chargesOf(caller)).map(({ amount }) => -amount);
}

const both = (amount: number) => [amount, amount];

test("text is charged as text where the sound was read from the cache", async () => {
  const usage = usageOf(60_000, 10, 0, {
    cachedContentTokenCount: 40_000,
    promptTokensDetails: [
      { modality: "AUDIO", tokenCount: 40_000 },
      { modality: "TEXT", tokenCount: 20_000 },
    ],
    cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 40_000 }],
  });
  const answer = chunkOf([{ text: "a" }], usage, "STOP");
  const amount = 20_000 * 1000 + 40_000 * 500 + 10 * 2000;
  expect(await amountsOf("drawing", answer, {})).toEqual(both(amount));
});

test("images are charged at their own price, in and out", async () => {
  const usage = usageOf(1000, 1300, 0, {
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 742 },
      { modality: "IMAGE", tokenCount: 258 },
    ],
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
  });
  const answer = chunkOf([{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }], usage, "STOP");
  const amount = 742 * 1000 + 258 * 3000 + 10 * 2000 + 1290 * 30_000;
  const asked = { generationConfig: { responseModalities: ["TEXT", "IMAGE"] } };
  expect(await amountsOf("drawing", answer, asked)).toEqual(both(amount));
});

const grounded = (queries: readonly string[]) => {
  const usage = usageOf(100, 20, 0, { toolUsePromptTokenCount: 900, totalTokenCount: 1020 });
  const answer = chunkOf([{ text: "a" }], usage, "STOP");
  const [candidate] = answer["candidates"] as JsonObject[];
  return {
    ...answer,
    candidates: [{ ...candidate, groundingMetadata: { webSearchQueries: [...queries] } }],
  };
};
const search = { tools: [{ googleSearch: {} }] };
const tokens = 100 * 1000 + 20 * 2000;

test.each([
  ["by-query", ["one", "two", ""], 2 * 14_000_000],
  ["by-query", [], 900 * 1000],
  ["by-prompt", ["one", "two"], 35_000_000],
  ["free-tools", ["one", "two"], 0],
] as const)(
  "a search of Google on %s with the queries %j costs its price, and not its tokens",
  async (id, queries, fee) => {
    expect(await amountsOf(id, grounded(queries), search)).toEqual(both(tokens + fee));
    expect(fake.requests[0]?.body).toEqual({ contents, ...search });
  },
);

test("searches are held for at the price of each, or of the prompt", async () => {
  const heldOn = async (id: string, more: JsonObject) => {
    const response = await ask(`${id}:generateContent`, { contents, ...more }, await world.creditCaller(0));
    return Number(/up to ([\d.e-]+) credits/.exec((await errorOf(response)).message)?.[1]);
  };
  expect((await heldOn("by-query", search)) - (await heldOn("by-query", {}))).toBeCloseTo(5 * 0.014, 3);
  expect((await heldOn("by-prompt", search)) - (await heldOn("by-prompt", {}))).toBeCloseTo(0.035, 3);
  expect(await heldOn("drawing", {})).toBeGreaterThan((4000 * 30) / 1e6);
});

const look = { name: "look", parameters: { type: "OBJECT", properties: { at: { type: "STRING" } } } };

test.each([
  [{ googleSearch: {} }, null],
  [[{ googleSearch: {} }, { codeExecution: {} }], null],
  [{ google_search: {}, functionDeclarations: [look] }, { functionDeclarations: [look] }],
  [[{ urlContext: {} }, { functionDeclarations: look }], [{ functionDeclarations: look }]],
])("of the tools %j, those without a price are left out", async (tools, left) => {
  const response = await ask("plain:generateContent", { contents, tools: tools as JsonObject });
  expect(response.status).toBe(left === null ? 400 : 200);
  if (left !== null) expect(fake.requests[0]?.body).toEqual({ contents, tools: left as JsonObject });
});

test("a tool that the operator allows passes", async () => {
  const body = { contents, tools: [{ googleSearch: {} }] };
  expect((await ask("free-tools:generateContent", body)).status).toBe(200);
  expect(fake.requests[0]?.body).toEqual(body);
});

test("options that choose another model, or run what Google bills, need the operator's word", async () => {
  const routingConfig = { manualMode: { modelName: "gemini-3-ultra" } };
  expect(await rejected({ generationConfig: { routingConfig } })).toBe("generationConfig.routingConfig");
  expect(await rejected({ generation_config: { routing_config: routingConfig } })).toBe(
    "generation_config.routing_config",
  );
  const modelSelectionConfig = { featureSelectionPreference: "PRIORITIZE_QUALITY" };
  expect(await rejected({ generationConfig: { modelSelectionConfig } })).toBe(
    "generationConfig.modelSelectionConfig",
  );
  const outputConfig = { outputUriPrefix: "gs://bucket/" };
  expect(await rejected({ outputConfig })).toBe("outputConfig.outputUriPrefix");
  expect(await rejected({ modelArmorConfig: { promptTemplateName: "t" } })).toBe("modelArmorConfig");
  expect(fake.requests).toEqual([]);
  const schema = { type: "object", $defs: { routing_config: { type: "object" } } };
  for (const name of ["responseJsonSchema", "_responseJsonSchema"])
    expect(
      (await ask("plain:generateContent", { contents, generationConfig: { [name]: schema } })).status,
    ).toBe(200);
  const dropped = await ask("on-chat:generateContent", { contents, generationConfig: { routingConfig } });
  expect(dropped.headers.get("x-sluice-dropped")).toBe("generationConfig.routingConfig");
});

test("a limit is lowered to the model's without another change of the body", async () => {
  const sent =
    '{"contents":[{"parts":[{"text":"x"}]}],"generation_config":{ "top_p" : 1.0,"max_output_tokens":64000 }}';
  const url = `${world.running.url}/v1beta/models/plain:generateContent?key=${caller.secret}`;
  await (await fetch(url, { method: "POST", body: sent })).text();
  expect(fake.requests[0]?.text).toBe(sent.replace("64000", "4000"));
});

test.each([
  ["small", ""],
  ["large", "iVBORw0KGgo".repeat(120_000)],
])("where the limit of a %s body is lowered, the long texts of its schema stay", async (_, data) => {
  const description = "A text that is longer than what is read of it before it is sent. ".repeat(2);
  const names = Array.from({ length: 100 }, (_each, index) => `field${index}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string", description }]));
  const responseJsonSchema = { type: "object", properties };
  const generationConfig = { maxOutputTokens: 64_000, responseJsonSchema };
  const parts = [{ text: "x" }, { inlineData: { mimeType: "image/png", data } }];
  const body = { contents: [{ role: "user", parts }], generationConfig };
  for (const id of ["plain", "on-chat"]) expect((await ask(`${id}:generateContent`, body)).status).toBe(200);
  expect(fake.requests[0]?.text).toBe(JSON.stringify(body).replace("64000", "4000"));
  expect(world.provider.requests.at(-1)?.body).toMatchObject({
    response_format: { json_schema: { schema: responseJsonSchema } },
  });
});

test("sound needs a price, however long the name of its type is", async () => {
  const mimeType = `audio/wav; comment=${"a".repeat(80)}`;
  const parts = [{ text: "x".repeat(10_000) }, { inlineData: { mimeType, data: "UklGRg==" } }];
  expect(await rejected({ contents: [{ role: "user", parts }] })).toBe("contents[0].parts[1].inlineData");
});

test("Google's refusal of a missing signature is answered with its placeholder", async () => {
  const turns = [
    ...contents,
    { role: "model", parts: [called("look", null), called("hear", null)] },
    { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "blue" } } }] },
  ];
  const response = await ask("plain:generateContent", {
    contents: turns,
    tools: [{ functionDeclarations: [look] }],
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-sluice-dropped")).toBe("thoughtSignature");
  expect(fake.requests).toHaveLength(2);
  expect(fake.requests[1]?.body).toMatchObject({
    contents: [{}, { parts: [{ thoughtSignature: sentinel }, { thoughtSignature: sentinel }] }, {}],
  });
  expect(await world.chargesOf(caller)).toHaveLength(1);
});

test("what Google rejects for another reason is sent once", async () => {
  fake.say(googleError(400, "INVALID_ARGUMENT", "The request is bad."));
  const response = await ask("plain:generateContent", { contents });
  expect(await errorOf(response)).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
  expect(fake.requests).toHaveLength(1);
});

test("a repeated request is answered from the store, and one for another model is a conflict", async () => {
  const once = { "idempotency-key": "once" };
  const first = await (await ask("plain:generateContent", { contents }, caller, once)).text();
  const again = await ask("plain:generateContent", { contents }, caller, once);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.text()).toBe(first);
  expect((await ask("rich:generateContent", { contents }, caller, once)).status).toBe(409);
  expect((await ask("plain:streamGenerateContent?alt=sse", { contents }, caller, once)).status).toBe(409);
  expect(await world.chargesOf(caller)).toHaveLength(1);
});

test("a key with a token budget has the paths below /token", async () => {
  const { secret } = await world.tokenCaller(100_000);
  const url = (origin: string) =>
    `${world.running.url}${origin}/v1/models/plain:generateContent?key=${secret}`;
  const send = (origin: string) => fetch(url(origin), { method: "POST", body: JSON.stringify({ contents }) });
  expect((await send("/token")).status).toBe(200);
  expect((await send("")).status).toBe(401);
});

test("a large body passes byte for byte, and is translated", async () => {
  const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo".repeat(120_000) } };
  const body = { contents: [{ role: "user", parts: [{ text: "What is it?" }, image] }] };
  const sent = JSON.stringify(body);
  for (const id of ["plain", "on-chat"]) {
    const response = await ask(`${id}:generateContent`, body);
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(fake.requests[0]?.text).toBe(sent);
  expect(world.provider.requests.at(-1)?.text).toContain(image.inlineData.data);
});

test("unknown methods and paths are not found, and say what is served", async () => {
  for (const [method, path] of [
    ["POST", "/v1beta/models/plain:batchGenerateContent"],
    ["GET", "/v1beta/files"],
    ["DELETE", "/v1beta/cachedContents/1"],
    ["POST", "/upload/v1beta/files"],
    ["POST", "/v1alpha/interactions"],
    ["POST", "/v1/models/plain"],
    ["POST", "/v1beta/models/%E0%A4:generateContent"],
  ] as const) {
    const headers = { "x-goog-api-key": caller.secret };
    const response = await fetch(world.running.url + path, { method, headers });
    expect(response.status, path).toBe(path.includes("%E0") ? 400 : 404);
    const error = await errorOf(response);
    expect(error, path).toMatchObject({ details: [{ domain: "sluice" }] });
    if (response.status === 404) expect(error.message).toContain("Served are generateContent");
  }
});

test("with the routes off, paths answer as if there were none", async () => {
  await world.reload((config) => `[routes]\ngemini = false\n${config}`);
  const send = (path: string) =>
    fetch(world.running.url + path, { method: "POST", headers: { "x-goog-api-key": "x" } });
  const statuses = [
    "/v1/models/plain:generateContent",
    "/v1/models/plain",
    "/v1beta/models/plain:generateContent",
  ];
  for (const [at, path] of statuses.entries()) {
    const response = await send(path);
    expect(response.status).toBe(at === 2 ? 404 : 405);
    expect(await response.json()).toHaveProperty("error.type");
  }
  await world.reload((config) => config);
});
