import { type Answer, imagesIn, moderationIn, rankingIn, textAnswer, vectorsIn } from "./answer.ts";
import { listAt, textAt, valueAt } from "./json.ts";
import {
  anthropicCalls,
  anthropicMessages,
  chatCalls,
  chatMessages,
  googleCalls,
  googleContents,
  responsesCalls,
  responsesInput,
  type ToolCall,
  type Turn,
} from "./turns.ts";

/** The form's values, as typed, and the conversation. */
export interface Question {
  readonly model: string;
  readonly system: string;
  /** The conversation so far, the new message included. Only the routes of conversations read it. */
  readonly turns: readonly Turn[];
  /** In the route's format; null for none. */
  readonly tools: readonly unknown[] | null;
  readonly text: string;
  /** The text after the gap; the model fills in between. */
  readonly suffix: string;
  /** One a line. */
  readonly documents: string;
  readonly size: string;
  readonly voice: string;
  readonly file: File | null;
  readonly maxTokens: number | null;
  readonly stream: boolean;
}

/** A route whose response length can be limited can also stream. */
export type QuestionField = Exclude<keyof Question, "model" | "stream" | "turns"> | "images";

/** Where a question goes. */
export function pathOf({ pathFor }: PageRoute, path: string, question: Question): string {
  return pathFor?.(path, question) ?? path;
}

/** How the page uses a route: builds a request, and reads the response. */
export interface PageRoute {
  readonly name: string;
  /** The fields of its form. */
  readonly fields: readonly QuestionField[];
  /** The label of `text`. */
  readonly textLabel?: string;
  /** The path of a route whose model and method are there; absent if it is the route's own. */
  pathFor?(path: string, question: Question): string;
  /** JSON, or a form where a file is sent. */
  body(question: Question): Record<string, unknown> | FormData;
  /** The text that one event of a stream adds. */
  delta?(event: unknown): string;
  /** Reads a non-streaming response; absent for audio. */
  read?(answer: unknown, question: Question): Answer;
  /** The tools that a response calls, of its events or of the whole. Only a conversation has these. */
  calls?(values: readonly unknown[]): readonly ToolCall[];
  /** A list of tools in the form of the route. */
  readonly toolExample?: string;
  /** The call of the vendor's SDK; absent if the SDK does not have one. */
  readonly sdk?: { readonly client: "OpenAI" | "Anthropic"; readonly call: string };
}

const chatFields = ["system", "text", "images", "tools", "maxTokens"] as const;

/** Undefined is not sent. */
function toolsOf({ tools }: Question): unknown {
  return tools === null ? undefined : tools;
}

const chat: PageRoute = {
  name: "Chat completions",
  fields: chatFields,
  sdk: { client: "OpenAI", call: "chat.completions.create" },
  toolExample: '[{"type":"function","function":{"name":"…","parameters":{"type":"object"}}}]',
  body: (question) => ({
    model: question.model,
    messages: [
      ...(question.system === "" ? [] : [{ role: "system", content: question.system }]),
      ...chatMessages(question.turns),
    ],
    tools: toolsOf(question),
    max_tokens: question.maxTokens ?? undefined,
    ...(question.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  delta: (event) => textAt(event, "choices.0.delta.content"),
  read: (answer) => textAnswer(textAt(answer, "choices.0.message.content")),
  calls: chatCalls,
};

const responses: PageRoute = {
  name: "Responses",
  fields: chatFields,
  sdk: { client: "OpenAI", call: "responses.create" },
  toolExample: '[{"type":"function","name":"…","parameters":{"type":"object"}}]',
  body: (question) => ({
    model: question.model,
    input: responsesInput(question.turns),
    instructions: question.system || undefined,
    tools: toolsOf(question),
    max_output_tokens: question.maxTokens ?? undefined,
    // The conversation is in this tab.
    store: false,
    stream: question.stream || undefined,
  }),
  delta: (event) => (textAt(event, "type") === "response.output_text.delta" ? textAt(event, "delta") : ""),
  read: (answer) =>
    textAnswer(
      listAt(answer, "output")
        .flatMap((item) => listAt(item, "content"))
        .map((part) => textAt(part, "text"))
        .join(""),
    ),
  calls: responsesCalls,
};

const messages: PageRoute = {
  name: "Messages",
  fields: chatFields,
  sdk: { client: "Anthropic", call: "messages.create" },
  toolExample: '[{"name":"…","input_schema":{"type":"object"}}]',
  body: (question) => ({
    model: question.model,
    max_tokens: question.maxTokens ?? 1024,
    messages: anthropicMessages(question.turns),
    system: question.system || undefined,
    tools: toolsOf(question),
    stream: question.stream || undefined,
  }),
  delta: (event) => (textAt(event, "type") === "content_block_delta" ? textAt(event, "delta.text") : ""),
  read: (answer) =>
    textAnswer(
      listAt(answer, "content")
        .map((part) => textAt(part, "text"))
        .join(""),
    ),
  calls: anthropicCalls,
};

/** Without the model's thoughts. */
function googleText(value: unknown): string {
  return listAt(value, "candidates.0.content.parts")
    .map((part) => (valueAt(part, "thought") === true ? "" : textAt(part, "text")))
    .join("");
}

const google: PageRoute = {
  name: "Google's generateContent",
  fields: chatFields,
  toolExample: '[{"functionDeclarations":[{"name":"…","parameters":{"type":"object"}}]}]',
  pathFor: (path, { model, stream }) =>
    path.replace(
      "*",
      `models/${encodeURIComponent(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    ),
  body: (question) => ({
    contents: googleContents(question.turns),
    systemInstruction: question.system === "" ? undefined : { parts: [{ text: question.system }] },
    tools: toolsOf(question),
    generationConfig: question.maxTokens === null ? undefined : { maxOutputTokens: question.maxTokens },
  }),
  delta: googleText,
  read: (answer) => textAnswer(googleText(answer)),
  calls: googleCalls,
};

const completionParts = {
  textLabel: "Prompt",
  delta: (event: unknown) => textAt(event, "choices.0.text") || textAt(event, "choices.0.delta.content"),
  read: (answer: unknown) =>
    textAnswer(textAt(answer, "choices.0.text") || textAt(answer, "choices.0.message.content")),
} as const;

const completion: PageRoute = {
  name: "Completions",
  fields: ["text", "maxTokens"],
  ...completionParts,
  body: ({ model, text, maxTokens, stream }) => ({
    model,
    prompt: text,
    max_tokens: maxTokens ?? undefined,
    stream: stream || undefined,
  }),
};

const fimCompletion: PageRoute = {
  ...completion,
  name: "Fill in the middle",
  fields: ["text", "suffix", "maxTokens"],
  body: (question) => ({ ...completion.body(question), suffix: question.suffix }),
};

/** The texts of a field that has one a line. */
export function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

const embedding: PageRoute = {
  name: "Embeddings",
  sdk: { client: "OpenAI", call: "embeddings.create" },
  fields: ["text"],
  textLabel: "Texts, one per line",
  body: ({ model, text }) => ({ model, input: linesOf(text), encoding_format: "float" }),
  read: vectorsIn,
};

const moderation: PageRoute = {
  name: "Moderations",
  sdk: { client: "OpenAI", call: "moderations.create" },
  fields: ["text"],
  textLabel: "Text",
  body: ({ model, text }) => ({ model, input: text }),
  read: moderationIn,
};

const rerank: PageRoute = {
  name: "Rerank",
  fields: ["text", "documents"],
  textLabel: "Query",
  body: ({ model, text, documents }) => ({ model, query: text, documents: linesOf(documents) }),
  read: (answer, { documents }) => rankingIn(answer, linesOf(documents)),
};

const image: PageRoute = {
  name: "Images",
  sdk: { client: "OpenAI", call: "images.generate" },
  fields: ["text", "size"],
  textLabel: "Image prompt",
  body: ({ model, text, size }) => ({ model, prompt: text, ...(size === "" ? {} : { size }) }),
  read: imagesIn,
};

function formOf(entries: Readonly<Record<string, string | File | null>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(entries))
    if (value !== null && value !== "") form.set(name, value);
  return form;
}

const imageEdit: PageRoute = {
  ...image,
  name: "Image edits",
  fields: ["file", "text", "size"],
  body: ({ model, text, size, file }) => formOf({ model, prompt: text, size, image: file }),
};

const speech: PageRoute = {
  name: "Speech",
  fields: ["text", "voice"],
  textLabel: "Text to speak",
  body: ({ model, text, voice }) => ({ model, input: text, voice }),
};

const transcription: PageRoute = {
  name: "Transcriptions",
  fields: ["file"],
  body: ({ model, file }) => formOf({ model, file }),
  read: (answer) => textAnswer(textAt(answer, "text")),
};

/** By the dialect's name or the operation's name at the server, which lists the available ones. */
export const pageRoutes: Readonly<Record<string, PageRoute>> = {
  chat,
  responses,
  messages,
  gemini: google,
  createEmbedding: embedding,
  createModeration: moderation,
  rerank,
  createCompletion: { ...completion, sdk: { client: "OpenAI", call: "completions.create" } },
  createFimCompletion: fimCompletion,
  createImage: image,
  editImage: imageEdit,
  createSpeech: speech,
  createTranscription: transcription,
  createTranslation: { ...transcription, name: "Translations" },
};
