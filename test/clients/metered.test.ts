import { afterAll, beforeAll, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embedMany } from "ai";
import OpenAI from "openai";
import { embeddingAnswer, vectorOf } from "../gateway/metered/embedding-provider.ts";
import { type MeteredCase, meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";

/** The routes beside generation, as real clients call them. */

const tail = `
${meteredModels()}

[providers.gemini]
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"

[[models]]
id = "embed-gemini"
provider = "gemini"
upstream_model = "gemini-embedding-001"
serves = ["embeddings"]
price = { input = 1.0 }
`;

let provider: ScriptedProvider;
let sluice: Sluice;
let openai: OpenAI;
let access: { readonly apiKey: string; readonly baseURL: string };
beforeAll(async () => {
  provider = startProvider();
  const config = configFor({ url: provider.url, tail }).replaceAll("PROVIDER_URL", provider.url);
  sluice = await startSluice({ config });
  const { key } = await sluice.createKey({ credit: 100 });
  access = { apiKey: key, baseURL: `${sluice.url}/v1` };
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

test("openai: embeddings, in base64 as the SDK asks by itself, of every kind of provider", async () => {
  provider.script(embeddingAnswer);
  for (const model of ["embeddings-model", "embed-gemini"]) {
    const { data, usage } = await openai.embeddings.create({ model, input: texts });
    expect(data.map(({ embedding }) => embedding)).toEqual(texts.map(vectorOf));
    expect(usage.total_tokens).toBe(3);
  }
});

test("the AI SDK: embeddings of OpenAI's package and of the compatible one", async () => {
  provider.script(embeddingAnswer);
  const models = [
    createOpenAI(access).embedding("embed-gemini"),
    createOpenAICompatible({ ...access, name: "sluice" }).embeddingModel("embed-gemini"),
  ];
  for (const model of models) {
    const { embeddings } = await embedMany({ model, values: texts });
    expect(embeddings).toEqual(texts.map(vectorOf));
  }
});

test("LangChain: embeddings of documents and of a query", async () => {
  provider.script(embeddingAnswer);
  const embeddings = new OpenAIEmbeddings({
    model: "embed-gemini",
    apiKey: access.apiKey,
    configuration: { baseURL: access.baseURL },
  });
  expect(await embeddings.embedDocuments(texts)).toEqual(texts.map(vectorOf));
  expect(await embeddings.embedQuery("one")).toEqual(vectorOf("one"));
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

test("openai: images, speech and transcriptions of a file", async () => {
  play("images");
  const { data } = await openai.images.generate({ model: "images-model", prompt: "a lock", n: 2 });
  expect(data).toHaveLength(2);
  const image = new File(["PNG"], "a.png", { type: "image/png" });
  expect((await openai.images.edit({ model: "images-model", prompt: "brighter", image })).data).toHaveLength(
    2,
  );
  play("speech");
  const sound = await openai.audio.speech.create({ model: "speech-model", voice: "alloy", input: "hello" });
  expect(await sound.text()).toBe("mp3");
  play("transcriptions");
  const file = new File([new Uint8Array(1000)], "talk.mp3", { type: "audio/mpeg" });
  const heard = await openai.audio.transcriptions.create({ model: "transcriptions-model", file });
  expect(heard.text).toBe("hello");
  const english = await openai.audio.translations.create({ model: "transcriptions-model", file });
  expect(english.text).toBe("hello");
});

test("openai: input tokens are counted", async () => {
  provider.script(json({ object: "response.input_tokens", input_tokens: 7 }));
  const { input_tokens: tokens } = await openai.responses.inputTokens.count({
    model: "gpt-test",
    input: "hello",
  });
  expect(tokens).toBe(7);
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
