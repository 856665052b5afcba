import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { embeddingAnswer, vectorOf } from "../gateway/metered/embedding-provider.ts";
import { meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { type Caller, World } from "../gateway/world.ts";

/**
 * Requests of programs that are too large to run here, transcribed from their sources: what each sends, and what it reads from
 * the response. Each has the path of its source.
 */

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail: meteredModels() });
  caller = await world.creditCaller(100);
});
afterAll(() => world[Symbol.asyncDispose]());

interface Recorded {
  readonly path: string;
  /** JSON, or the fields of a form. */
  readonly body: JsonObject | FormData;
  /** The name of the metered case that the provider answers with. */
  readonly answeredBy: string;
  /** What the program reads. */
  readonly reads: unknown;
  /** The whole of the answer is not JSON. */
  readonly isSound?: true;
}

const audio = () => new File([new Uint8Array(1000)], "speech.webm", { type: "audio/webm" });
const image = (name: string) => new File(["PNG"], name, { type: "image/png" });
const form = (fields: readonly (readonly [string, string | File])[]) => {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
};

const texts = ["one", "two words"];
const vectors = { data: texts.map((text) => ({ embedding: vectorOf(text) })) };
const pictures = { data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }] };
const ranking = {
  results: [
    { index: 7, relevance_score: 0.9 },
    { index: 3, relevance_score: 0.2 },
  ],
};
const documents = meteredCases["rerank"]?.body["documents"] ?? [];
const heard = { text: "hello" };
const clean = { results: [{ flagged: false }] };

const recorded: Readonly<Record<string, Readonly<Record<string, Recorded>>>> = {
  "Open WebUI": {
    // backend/open_webui/retrieval/utils.py, agenerate_openai_batch_embeddings; the prefix is the operator's to name.
    "texts to be embedded, with a prefix": {
      path: "/v1/embeddings",
      body: { input: texts, model: "embeddings-model", prompt: "query: " },
      answeredBy: "embeddings",
      reads: vectors,
    },
    // backend/open_webui/retrieval/models/external.py
    "a ranking": {
      path: "/v1/rerank",
      body: { model: "rerank-model", query: "which one?", documents, top_n: 250 },
      answeredBy: "rerank",
      reads: ranking,
    },
    // backend/open_webui/routers/audio.py, _tts_openai; its page sends the text alone.
    speech: {
      path: "/v1/audio/speech",
      body: { input: "hello", model: "speech-model", voice: "alloy" },
      answeredBy: "speech",
      reads: "mp3",
      isSound: true,
    },
    // backend/open_webui/routers/audio.py, _transcribe_openai
    "a transcription as a form": {
      path: "/v1/audio/transcriptions",
      body: form([
        ["model", "transcriptions-model"],
        ["language", "en"],
        ["file", audio()],
      ]),
      answeredBy: "transcriptions",
      reads: heard,
    },
    // The same with api_request_format = "json".
    "a transcription as JSON": {
      path: "/v1/audio/transcriptions",
      body: { model: "transcriptions-model", input_audio: { data: "AAAA", format: "webm" } },
      answeredBy: "transcriptions",
      reads: heard,
    },
    // backend/open_webui/routers/images.py, image_generations
    "an image": {
      path: "/v1/images/generations",
      body: { model: "images-model", prompt: "a lock", n: 1, size: "512x512", response_format: "b64_json" },
      answeredBy: "images",
      reads: pictures,
    },
    // backend/open_webui/routers/images.py, image_edits
    "an edited image": {
      path: "/v1/images/edits",
      body: form([
        ["model", "images-model"],
        ["prompt", "brighter"],
        ["n", "1"],
        ["size", "512x512"],
        ["response_format", "b64_json"],
        ["image[]", image("a.png")],
        ["image[]", image("b.png")],
      ]),
      answeredBy: "images",
      reads: pictures,
    },
  },
  // packages/@n8n/nodes-langchain/nodes/vendors/OpenAi/v2/actions
  n8n: {
    // text/classify.operation.ts
    "a moderation": {
      path: "/v1/moderations",
      body: { input: "is this harmful?", model: "moderations-model" },
      answeredBy: "moderations",
      reads: clean,
    },
    // audio/generate.operation.ts
    speech: {
      path: "/v1/audio/speech",
      body: { model: "speech-model", input: "hello", voice: "alloy", response_format: "mp3", speed: 1 },
      answeredBy: "speech",
      reads: "mp3",
      isSound: true,
    },
    // audio/transcribe.operation.ts
    "a transcription": {
      path: "/v1/audio/transcriptions",
      body: form([
        ["model", "transcriptions-model"],
        ["temperature", "0.2"],
        ["file", audio()],
      ]),
      answeredBy: "transcriptions",
      reads: heard,
    },
    // audio/translate.operation.ts
    "a translation": {
      path: "/v1/audio/translations",
      body: form([
        ["model", "transcriptions-model"],
        ["file", audio()],
      ]),
      answeredBy: "transcriptions",
      reads: heard,
    },
    // image/generate.operation.ts
    "an image": {
      path: "/v1/images/generations",
      body: { prompt: "a lock", model: "images-model", response_format: "b64_json", n: 2, quality: "hd" },
      answeredBy: "images",
      reads: pictures,
    },
    // image/edit.operation.ts: the files first, and the model behind them.
    "an edited image": {
      path: "/v1/images/edits",
      body: form([
        ["image[]", image("a.png")],
        ["prompt", "brighter"],
        ["model", "images-model"],
        ["n", "1"],
        ["size", "1024x1024"],
        ["quality", "auto"],
      ]),
      answeredBy: "images",
      reads: pictures,
    },
  },
  LibreChat: {
    // api/server/middleware/moderateText.js; whatever is no 200 denies the message.
    "a moderation without a model": {
      path: "/v1/moderations",
      body: { input: ["is this harmful?", "and this?"] },
      answeredBy: "moderations",
      reads: clean,
    },
    // api/server/services/Files/Audio/STTService.js: the file first.
    "a transcription": {
      path: "/v1/audio/transcriptions",
      body: form([
        ["file", audio()],
        ["model", "transcriptions-model"],
        ["language", "de"],
      ]),
      answeredBy: "transcriptions",
      reads: heard,
    },
    // api/server/services/Files/Audio/TTSService.js, with a backend of the operator's.
    speech: {
      path: "/v1/audio/speech",
      body: { input: "hello", model: "speech-model", voice: "alloy", backend: "piper" },
      answeredBy: "speech",
      reads: "mp3",
      isSound: true,
    },
    // api/app/clients/tools/structured/OpenAIImageTools.js
    "an image": {
      path: "/v1/images/generations",
      body: {
        model: "images-model",
        prompt: "a lock",
        n: 1,
        background: "auto",
        output_format: "png",
        quality: "auto",
        size: "auto",
      },
      answeredBy: "images",
      reads: pictures,
    },
  },
  // dify-plugin-sdks, src/dify_plugin/interfaces/model/openai_compatible
  Dify: {
    // text_embedding.py; what it reads of the usage is the total.
    "texts to be embedded": {
      path: "/v1/embeddings",
      body: { input: texts, model: "embeddings-model", user: "abc-123", encoding_format: "float" },
      answeredBy: "embeddings",
      reads: { ...vectors, usage: { total_tokens: 3 } },
    },
    // text_embedding.py, validate_credentials
    "a look whether the model is there": {
      path: "/v1/embeddings",
      body: { input: ["ping"], model: "embeddings-model" },
      answeredBy: "embeddings",
      reads: { data: [{ embedding: vectorOf("ping") }] },
    },
    // rerank.py
    "a ranking": {
      path: "/v1/rerank",
      body: { model: "rerank-model", query: "which one?", documents, top_n: 2, return_documents: true },
      answeredBy: "rerank",
      reads: ranking,
    },
    // tts.py
    speech: {
      path: "/v1/audio/speech",
      body: { model: "speech-model", input: "hello", voice: "alloy", response_format: "mp3" },
      answeredBy: "speech",
      reads: "mp3",
      isSound: true,
    },
    // speech2text.py
    "a transcription": {
      path: "/v1/audio/transcriptions",
      body: form([
        ["model", "transcriptions-model"],
        ["file", audio()],
      ]),
      answeredBy: "transcriptions",
      reads: heard,
    },
  },
};

describe.each(Object.entries(recorded))("%s", (_program, requests) => {
  test.each(Object.entries(requests))("%s", async (_what, { path, body, answeredBy, reads, isSound }) => {
    const answer = meteredCases[answeredBy]?.answer;
    if (answer === undefined) throw new Error(`there is no case ${answeredBy}`);
    world.provider.script(answeredBy === "embeddings" ? embeddingAnswer : answer);
    const isForm = body instanceof FormData;
    const response = await fetch(world.running.url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${caller.secret}`,
        ...(isForm ? {} : { "content-type": "application/json" }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    if (isSound === true) expect<unknown>(await response.text()).toBe(reads);
    else expect(await response.json()).toMatchObject(reads as object);
  });
});
