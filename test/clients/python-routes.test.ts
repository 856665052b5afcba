import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import {
  embeddingAnswer,
  embeddingKinds,
  embeddingModels,
  vectorOf,
} from "../gateway/metered/embedding-provider.ts";
import { meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { type Answer, openAiError } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { frameworkErrand } from "./agents/framework-errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { speakerNames } from "./conversation/speakers.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { pythonTimeoutMs, runPython } from "./python/run.ts";
import { startWorld, type World } from "./world.ts";

/** All routes other than generation, as the official Python package and its dependents call them: two processes, all calls. */

interface Call {
  readonly method: string;
  readonly arguments: JsonObject;
  /** Why the answer cannot be of the type that the package declares. */
  readonly lenient?: string;
  /** What the answer has, or what the error says. */
  readonly gives: object | string | null;
}

type Outcome = { readonly answer: unknown } | { readonly error: { readonly message: string } };

/** The answer of the case whose address it is. */
function respondMetered(request: SeenRequest): Answer {
  const route = request.path.replace(/^\/(?:openai|local)/, "");
  if (route === "/v1/images/edits") return answerOf("images");
  if (route === "/v1/audio/translations") return answerOf("transcriptions");
  const name = Object.keys(meteredCases).find((each) => meteredCases[each]?.path === route);
  return name === undefined || name === "embeddings" ? embeddingAnswer(request) : answerOf(name);
}

function answerOf(name: string): Answer {
  return meteredCases[name]?.answer ?? openAiError(404, `there is no case ${name}`);
}

const texts = ["one", "two words"];
const embedded = { data: texts.map((text, index) => ({ index, embedding: vectorOf(text) })) };

const embeddings = embeddingKinds.flatMap(([kind, model]): [string, Call][] => [
  [
    `openai: embeddings of ${kind}, base64 as it asks by itself`,
    {
      method: "embeddings.create",
      arguments: { model, input: texts },
      lenient: "it decodes base64 after it has validated floats",
      gives: embedded,
    },
  ],
  [
    `openai: embeddings of ${kind}, floats`,
    {
      method: "embeddings.create",
      arguments: { model, input: texts, encoding_format: "float" },
      gives: embedded,
    },
  ],
]);

const onFrameworks = (name: string) =>
  embeddingKinds.map(([kind, model]): [string, Call] => [
    `${name} of ${kind}`,
    {
      method: name,
      arguments: { model, texts },
      gives: [...texts, texts[0] ?? ""].map(vectorOf),
    },
  ]);

const audio = { model: "transcriptions-model", file: { $file: "talk.mp3" } };
const metered: Readonly<Record<string, Call>> = {
  "openai: moderations": {
    method: "moderations.create",
    arguments: { model: "moderations-model", input: "is this harmful?" },
    lenient: "this provider has no categories",
    gives: { results: [{ flagged: false }] },
  },
  "openai: moderations without a model": {
    method: "moderations.create",
    arguments: { input: ["is this harmful?"] },
    lenient: "this provider has no categories",
    gives: { results: [{ flagged: false }] },
  },
  "openai: completions": {
    method: "completions.create",
    arguments: { model: "completions-model", prompt: "go", max_tokens: 5 },
    gives: { choices: [{ text: "go on" }] },
  },
  "openai: images": {
    method: "images.generate",
    arguments: { model: "images-model", prompt: "a lock", n: 2 },
    gives: { data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }] },
  },
  "openai: images that are edited": {
    method: "images.edit",
    arguments: { model: "images-model", prompt: "brighter", image: [{ $file: "a.png" }, { $file: "b.png" }] },
    gives: { data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }] },
  },
  "openai: speech": {
    method: "audio.speech.create",
    arguments: { model: "speech-model", voice: "alloy", input: "hello" },
    gives: "mp3",
  },
  "openai: transcriptions": {
    method: "audio.transcriptions.create",
    arguments: audio,
    gives: { text: "hello" },
  },
  "openai: translations": { method: "audio.translations.create", arguments: audio, gives: { text: "hello" } },
  "openai: a model that does not serve a route": {
    method: "audio.translations.create",
    arguments: { ...audio, model: "speech-model" },
    gives: /speech-model/,
  },
};

/** A conversation, whose calls use what earlier ones were answered. */
function responsesOn(model: string): readonly [string, Call][] {
  const nameOf = (step: string) => `openai: responses on ${model}, ${step}`;
  const said = (text: string) => ({ type: "message", status: "completed", content: [{ text }] });
  const of = (step: string, field: string) => ({ $of: [nameOf(step), field] });
  const ofStream = { $of: [nameOf("background, streamed"), 0, "response", "id"] };
  const calls: Readonly<Record<string, Call>> = {
    create: {
      method: "responses.create",
      arguments: { model, input: "My name is Ada." },
      gives: { status: "completed", output: [said("An errand")] },
    },
    "previous_response_id, streamed": {
      method: "responses.create",
      arguments: { model, input: "And?", previous_response_id: of("create", "id"), stream: true },
      gives: expect.arrayContaining([expect.objectContaining({ type: "response.completed" })]),
    },
    retrieve: {
      method: "responses.retrieve",
      arguments: { response_id: of("create", "id") },
      gives: { output: [said("An errand")] },
    },
    input_items: {
      method: "responses.input_items.list",
      arguments: { response_id: of("create", "id"), order: "asc", limit: 1 },
      gives: [{ role: "user", content: [{ type: "input_text", text: "My name is Ada." }] }],
    },
    compact: {
      method: "responses.compact",
      arguments: { model, previous_response_id: of("create", "id") },
      lenient: "there are only messages of an assistant",
      gives: { object: "response.compaction" },
    },
    "what was compacted": {
      method: "responses.create",
      arguments: { model, input: of("compact", "output"), store: false },
      gives: { status: "completed" },
    },
    input_tokens: {
      method: "responses.input_tokens.count",
      arguments: { model, input: "hello" },
      gives: { object: "response.input_tokens", input_tokens: expect.any(Number) },
    },
    websocket: {
      method: "socket",
      arguments: {
        creates: [
          { model, input: "Hello", store: false },
          { model, input: "And?", store: false },
        ],
      },
      gives: [{ type: "response.completed" }, { type: "response.completed" }],
    },
    conversation: {
      method: "conversations.create",
      arguments: { items: [{ role: "user", content: "My name is Ada." }], metadata: { topic: "canals" } },
      gives: { object: "conversation", metadata: { topic: "canals" } },
    },
    "a response in a conversation": {
      method: "responses.create",
      arguments: { model, input: "And?", conversation: of("conversation", "id") },
      gives: { status: "completed", conversation: { id: expect.stringMatching(/^conv_/) } },
    },
    "items of a conversation": {
      method: "conversations.items.list",
      arguments: { conversation_id: of("conversation", "id"), order: "asc", limit: 1 },
      gives: [{ role: "user" }, { role: "user" }, said("An errand")],
    },
    "items for a conversation": {
      method: "conversations.items.create",
      arguments: { conversation_id: of("conversation", "id"), items: [{ role: "user", content: "More" }] },
      gives: { data: [{ type: "message" }], has_more: false },
    },
    "an item of a conversation": {
      method: "conversations.items.retrieve",
      arguments: {
        conversation_id: of("conversation", "id"),
        item_id: of("items for a conversation", "last_id"),
      },
      gives: { type: "message", content: [{ text: "More" }] },
    },
    "an item less": {
      method: "conversations.items.delete",
      arguments: {
        conversation_id: of("conversation", "id"),
        item_id: of("items for a conversation", "last_id"),
      },
      gives: { object: "conversation" },
    },
    "a conversation that is changed": {
      method: "conversations.update",
      arguments: { conversation_id: of("conversation", "id"), metadata: { topic: "locks" } },
      gives: { metadata: { topic: "locks" } },
    },
    "a conversation that is deleted": {
      method: "conversations.delete",
      arguments: { conversation_id: of("conversation", "id") },
      gives: { object: "conversation.deleted", deleted: true },
    },
    "a conversation that is gone": {
      method: "conversations.retrieve",
      arguments: { conversation_id: of("conversation", "id") },
      gives: /404/,
    },
    "a session of the Agents SDK": {
      method: "agents.session",
      arguments: { model, asked: ["Hello", "Go on"] },
      gives: { roles: ["user", "assistant", "user", "assistant"], popped: "assistant", left: 3 },
    },
    background: {
      method: "responses.create",
      arguments: { model, input: "Take your time.", background: true },
      gives: { status: "queued", background: true, output: [] },
    },
    "background, streamed": {
      method: "responses.create",
      arguments: { model, input: "Take your time.", background: true, stream: true },
      gives: expect.arrayContaining([
        expect.objectContaining({ type: "response.queued", sequence_number: 1 }),
        expect.objectContaining({ type: "response.completed" }),
      ]),
    },
    "background, resumed": {
      method: "responses.retrieve",
      arguments: { response_id: ofStream, stream: true, starting_after: 1 },
      gives: expect.arrayContaining([
        expect.objectContaining({ type: "response.in_progress", sequence_number: 2 }),
        expect.objectContaining({ type: "response.completed" }),
      ]),
    },
    "background, cancelled too late": {
      method: "responses.cancel",
      arguments: { response_id: ofStream },
      gives: { status: "completed", output: [said("An errand")] },
    },
    delete: { method: "responses.delete", arguments: { response_id: of("create", "id") }, gives: null },
    "what is deleted": {
      method: "responses.retrieve",
      arguments: { response_id: of("create", "id") },
      gives: /404/,
    },
  };
  return Object.entries(calls).map(([name, call]) => [nameOf(name), call]);
}

const chatsOf = (model: string) => ({
  model,
  messages: [{ role: "user", content: "Hello" }],
  max_tokens: 50,
});
const batchModels = speakerNames.map((dialect) => `any-on-${dialect}`);

/** Lines of a batch, with a model of each provider. */
const batchLines: Readonly<Record<string, readonly JsonObject[]>> = {
  "/v1/chat/completions": batchModels.map(chatsOf),
  "/v1/messages": batchModels.map(chatsOf),
  "/v1/responses": batchModels.map((model) => ({ model, input: "Hello" })),
  "/v1/embeddings": embeddingKinds.map(([, model]) => ({ model, input: texts })),
};

const batches: readonly [string, Call][] = [
  ...Object.entries(batchLines).map(([endpoint, bodies]): [string, Call] => [
    `openai: a batch of ${endpoint}`,
    {
      method: "openai.batch",
      arguments: { endpoint, bodies: [...bodies] },
      gives: {
        ...{ status: "completed", metadata: { by: "python" }, seconds: 3600 },
        ...{ again: true, listed: true, same: true, deleted: true },
        counts: { total: bodies.length, completed: bodies.length, failed: 0 },
        names: bodies.map((_, place) => `line-${place}`),
        statuses: bodies.map(() => 200),
      },
    },
  ]),
  [
    "anthropic: a message batch",
    {
      method: "anthropic.batch",
      arguments: { models: [...batchModels, "unknown"] },
      gives: {
        counts: { processing: 0, succeeded: batchModels.length, errored: 1, canceled: 0, expired: 0 },
        results: [...batchModels.map(() => "succeeded"), "errored"],
        ...{ listed: true, deleted: "message_batch_deleted" },
      },
    },
  ],
];

const groups = [
  {
    environment: largeClients.python,
    calls: [
      ...embeddings,
      ...onFrameworks("langchain.embeddings"),
      ...Object.entries(metered),
      ...batches,
      ...speakerNames.flatMap((dialect) => responsesOn(`any-on-${dialect}`)),
    ],
  },
  {
    environment: largeClients.pythonWithOlderPackages,
    calls: [...embeddings, ...onFrameworks("llama-index.embeddings")],
  },
];

const environments = await Promise.all(
  groups.map(async ({ environment, calls }) => ({
    calls,
    python: runsLargeClients ? await environment() : null,
  })),
);
if (!runsLargeClients) console.log("The Python packages are driven against the executable only.");

let provider: ScriptedProvider;
let world: World<AgentProvider>;
beforeAll(async () => {
  if (!runsLargeClients) return;
  provider = startProvider(respondMetered);
  const tail = configFor({ url: provider.url, tail: meteredModels() + embeddingModels });
  const routes = "\n[routes]\nconversations = true\n";
  world = await startWorld(startAgentProvider(), {
    tail: tail.replaceAll("PROVIDER_URL", provider.url) + routes,
  });
  world.provider.send(frameworkErrand);
}, 120_000);
afterAll(async () => {
  await world?.dispose();
  provider?.stop();
});

for (const { calls, python } of environments) {
  /** Not registered at all where they are run against the executable anyway. */
  const suite = runsLargeClients ? describe.skipIf(python === null) : () => {};
  suite(`Python's packages, ${calls.length} calls`, () => {
    let outcomes: readonly Outcome[] = [];
    beforeAll(async () => {
      const { url, key } = world.access("chat");
      const asked = calls.map(([name, { gives: _, ...call }]) => ({ name, ...call }));
      outcomes = await runPython(python ?? "", "routes.py", { url, key, calls: asked });
    }, pythonTimeoutMs);

    test.each(calls.map(([name, call], place) => [name, call, place] as const))(
      "%s",
      (_name, { gives }, place) => {
        const outcome = outcomes[place] ?? { error: { message: "nothing was answered" } };
        if (gives instanceof RegExp) expect("error" in outcome && outcome.error.message).toMatch(gives);
        else if (typeof gives === "object") expect(outcome).toMatchObject({ answer: gives });
        else expect(outcome).toEqual({ answer: gives });
      },
    );
  });
}
