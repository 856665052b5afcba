import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createCohere } from "@ai-sdk/cohere";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAIEmbeddings } from "@langchain/openai";
import {
  embed,
  embedMany,
  generateImage,
  experimental_generateSpeech as generateSpeech,
  rerank,
  experimental_transcribe as transcribe,
} from "ai";
import OpenAI from "openai";
import {
  embeddingAnswer,
  embeddingKinds,
  embeddingModels,
  vectorOf,
} from "../gateway/metered/embedding-provider.ts";
import { type MeteredCase, meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { tokenizerLoaded } from "../support/tokenizer.ts";

/** All routes other than generation, as real clients call them. */

/** Who makes images and sounds: how its models' names end, and where it is asked. */
const studios = [
  ["OpenAI", "model", (route: string) => `/openai/v1/${route}`],
  ["Azure", "at-azure", (route: string) => `/openai/v1/${route}`],
  [
    "Azure with a dated version",
    "at-dated-azure",
    (route: string) => `/openai/deployments/our%20studio/${route}?api-version=2024-10-21`,
  ],
] as const;

const atAzure = ["images", "speech", "transcriptions"].flatMap((name) =>
  ["azure", "dated-azure"].map(
    (provider) => `
[[models]]
id = "${name}-at-${provider}"
provider = "${provider}-studio"
upstream_model = "our studio"
serves = ["${name}"]
price = ${meteredCases[name]?.price}
`,
  ),
);

const azures = `
[providers.azure-studio]
kind = "azure"
base_url = "PROVIDER_URL/openai/v1"
api_key = "env:TEST_OPENAI_KEY"

[providers.dated-azure-studio]
kind = "azure"
base_url = "PROVIDER_URL/openai"
api_version = "2024-10-21"
api_key = "env:TEST_OPENAI_KEY"
`;

const tail = [azures, meteredModels(), embeddingModels, ...atAzure].join("\n");

let provider: ScriptedProvider;
let sluice: Sluice;
let openai: OpenAI;
let access: { readonly apiKey: string; readonly baseURL: string };
beforeAll(async () => {
  provider = startProvider();
  const config = configFor({ url: provider.url, tail }).replaceAll("PROVIDER_URL", provider.url);
  sluice = await startSluice({ config });
  const key = await sluice.createKey({ credit: 100 });
  await tokenizerLoaded(sluice, key, "local-test");
  access = { apiKey: key.key, baseURL: `${sluice.url}/v1` };
  openai = new OpenAI({ ...access, maxRetries: 0 });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

function play(name: string): MeteredCase {
  const found = meteredCases[name];
  if (found === undefined) throw new Error(`there is no case ${name}`);
  provider.script(found.answer);
  return found;
}

const texts = ["one", "two words"];

describe.each(embeddingKinds)("embeddings of %s", (_, model) => {
  beforeEach(() => provider.script(embeddingAnswer));

  test("openai, in base64 as it asks by itself", async () => {
    const { data, usage } = await openai.embeddings.create({ model, input: texts });
    expect(data.map(({ embedding }) => embedding)).toEqual(texts.map(vectorOf));
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  });

  test("openai, of token ids, which OpenAI's models alone understand", async () => {
    const input = [[15339, 1917]];
    const { data } = await openai.embeddings.create({ model, input, encoding_format: "float" });
    const isTheirs = model === "embed" || model === "embed-azure";
    expect(data[0]?.embedding).toEqual(isTheirs ? [2, 0, 0.5] : vectorOf("hello world"));
  });

  test("the AI SDK, by OpenAI's package and by the compatible one", async () => {
    const models = [
      createOpenAI(access).embedding(model),
      createOpenAICompatible({ ...access, name: "sluice" }).embeddingModel(model),
    ];
    for (const each of models) {
      const { embeddings, usage } = await embedMany({ model: each, values: texts });
      expect(embeddings).toEqual(texts.map(vectorOf));
      expect(usage.tokens).toBe(3);
      expect((await embed({ model: each, value: "one" })).embedding).toEqual(vectorOf("one"));
    }
  });

  test("LangChain, of documents and of a query", async () => {
    const { apiKey, baseURL } = access;
    const embeddings = new OpenAIEmbeddings({ model, apiKey, configuration: { baseURL } });
    expect(await embeddings.embedDocuments(texts)).toEqual(texts.map(vectorOf));
    expect(await embeddings.embedQuery("one")).toEqual(vectorOf("one"));
  });
});

describe.each(studios)("images and sounds of %s", (_, end, pathOf) => {
  beforeEach(() => {
    provider.requests.length = 0;
  });
  const pathsAsked = () => provider.requests.map(({ path }) => path);

  test("the AI SDK: images, speech and transcriptions, with its defaults", async () => {
    const { image, speech, transcription } = createOpenAI(access);
    play("images");
    const drawn = await generateImage({ model: image(`images-${end}`), prompt: "a lock" });
    expect(drawn.images.map(({ base64 }) => base64)).toEqual(["AAAA", "BBBB"]);
    const compatible = createOpenAICompatible({ ...access, name: "sluice" }).imageModel(`images-${end}`);
    expect((await generateImage({ model: compatible, prompt: "a lock" })).images).toHaveLength(2);
    play("speech");
    const { audio } = await generateSpeech({ model: speech(`speech-${end}`), text: "hello", speed: 1.5 });
    expect(Buffer.from(audio.uint8Array).toString()).toBe("mp3");
    play("transcriptions");
    const heard = await transcribe({
      model: transcription(`transcriptions-${end}`),
      audio: new Uint8Array([0xff, 0xfb, 0x90, 0x00]),
    });
    expect(heard.text).toBe("hello");
    const routes = ["images/generations", "images/generations", "audio/speech", "audio/transcriptions"];
    expect(pathsAsked()).toEqual(routes.map(pathOf));
  });

  test("openai: images, speech and transcriptions of a file", async () => {
    play("images");
    const { data } = await openai.images.generate({ model: `images-${end}`, prompt: "a lock", n: 2 });
    expect(data).toHaveLength(2);
    const image = new File(["PNG"], "a.png", { type: "image/png" });
    const edited = await openai.images.edit({ model: `images-${end}`, prompt: "brighter", image });
    expect(edited.data).toHaveLength(2);
    play("speech");
    const said = await openai.audio.speech.create({ model: `speech-${end}`, voice: "alloy", input: "hello" });
    expect(await said.text()).toBe("mp3");
    play("transcriptions");
    const file = new File([new Uint8Array(1000)], "talk.mp3", { type: "audio/mpeg" });
    const heard = await openai.audio.transcriptions.create({ model: `transcriptions-${end}`, file });
    expect(heard.text).toBe("hello");
    const english = await openai.audio.translations.create({ model: `transcriptions-${end}`, file });
    expect(english.text).toBe("hello");
    const images = ["images/generations", "images/edits"];
    const sounds = ["audio/speech", "audio/transcriptions", "audio/translations"];
    expect(pathsAsked()).toEqual([...images, ...sounds].map(pathOf));
  });
});

test("openai: moderations with a model and without one, as LibreChat asks", async () => {
  const { body } = play("moderations");
  const input = String(body["input"]);
  const { results } = await openai.moderations.create({ model: "moderations-model", input });
  expect(results[0]?.flagged).toBe(false);
  expect((await openai.moderations.create({ input })).results).toHaveLength(1);
});

test("openai: completions", async () => {
  play("completions");
  const whole = await openai.completions.create({ model: "completions-model", prompt: "go", max_tokens: 5 });
  expect(whole.choices[0]?.text).toBe("go on");
});

test("openai: input tokens are counted", async () => {
  provider.script(json({ object: "response.input_tokens", input_tokens: 7 }));
  const { input_tokens: tokens } = await openai.responses.inputTokens.count({
    model: "gpt-test",
    input: "hello",
  });
  expect(tokens).toBe(7);
});

test("the AI SDK: a ranking by Cohere's package, at the address of either version", async () => {
  const documents = play("rerank").body["documents"] as string[];
  for (const version of ["v1", "v2"]) {
    const cohere = createCohere({ apiKey: access.apiKey, baseURL: `${sluice.url}/${version}` });
    const model = cohere.reranking("rerank-model");
    const { ranking, rerankedDocuments } = await rerank({ model, documents, query: "which one?", topN: 2 });
    expect(ranking.map(({ originalIndex, score }) => [originalIndex, score])).toEqual([
      [7, 0.9],
      [3, 0.2],
    ]);
    expect(rerankedDocuments).toEqual(["document 7", "document 3"]);
    expect(provider.requests.at(-1)?.body).toMatchObject({ documents, query: "which one?", top_n: 2 });
  }
});

test("Open WebUI and Continue: a ranking at the address that they were given", async () => {
  const { body } = play("rerank");
  for (const path of ["/v1/rerank", "/rerank"]) {
    const response = await fetch(sluice.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${access.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "rerank-model", ...body }),
    });
    const { results } = (await response.json()) as { results: { index: number; relevance_score: number }[] };
    expect(results.map(({ index }) => index)).toEqual([7, 3]);
  }
});
