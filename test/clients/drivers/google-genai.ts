import {
  type Content,
  type GenerateContentParameters,
  type GenerateContentResponseUsageMetadata,
  GoogleGenAI,
  type Part,
  ThinkingLevel,
} from "@google/genai";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Ask, type Call, type Picture, runTool } from "../conversation/scenario.ts";
import { type Client, isLast, modelAt, type Understood } from "./client.ts";

/** Google's own package, which sends back the parts that it got, as its documentation asks for. */
export const googleGenAi: Client = {
  name: "@google/genai",
  dialect: "gemini",
  hidesRefusals: true,
  async converse(access, ask, stream) {
    const client = new GoogleGenAI({ apiKey: access.key, httpOptions: { baseUrl: access.url } });
    const contents: Content[] = [{ role: "user", parts: ask.user.map(partOf) }];
    const answers: Understood[] = [];
    for (;;) {
      const received = await request(client, bodyOf(modelAt(access, answers.length), ask, contents), stream);
      const understood = understand(received);
      answers.push(understood);
      if (isLast(ask, answers)) return answers;
      contents.push({ role: "model", parts: received.parts });
      const parts = understood.calls.map((call) => resultOf(ask, call));
      contents.push({ role: "user", parts: parts.length === 0 ? [{ text: ask.reply ?? "" }] : parts });
    }
  },
};

function bodyOf(model: string, ask: Ask, contents: Content[]): GenerateContentParameters {
  const functionDeclarations = ask.tools.map(({ name, description, schema }) => ({
    name,
    description,
    parametersJsonSchema: schema,
  }));
  return {
    model,
    contents,
    config: {
      systemInstruction: ask.system,
      ...(ask.tools.length === 0 ? {} : { tools: [{ functionDeclarations }] }),
      ...(ask.effort === null
        ? {}
        : { thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.HIGH } }),
      ...(ask.schema === null
        ? {}
        : { responseMimeType: "application/json", responseJsonSchema: ask.schema }),
    },
  };
}

function partOf(part: string | Picture): Part {
  return typeof part === "string"
    ? { text: part }
    : { inlineData: { mimeType: part.mediaType, data: part.data } };
}

function resultOf(ask: Ask, call: Call): Part {
  return { functionResponse: { id: call.id, name: call.name, response: { output: runTool(ask, call) } } };
}

interface Received {
  readonly parts: Part[];
  readonly finish: string;
  readonly usage: GenerateContentResponseUsageMetadata;
}

async function request(
  client: GoogleGenAI,
  body: GenerateContentParameters,
  stream: boolean,
): Promise<Received> {
  const answers = stream
    ? await Array.fromAsync(await client.models.generateContentStream(body))
    : [await client.models.generateContent(body)];
  const candidates = answers.flatMap((answer) => answer.candidates?.[0] ?? []);
  const last = candidates.findLast(({ finishReason }) => finishReason !== undefined);
  return {
    parts: candidates.flatMap(({ content }) => content?.parts ?? []),
    finish: last?.finishReason ?? "none",
    usage:
      answers.findLast(({ usageMetadata: usage }) => usage?.promptTokenCount !== undefined)?.usageMetadata ??
      {},
  };
}

const finishes: Readonly<Record<string, Understood["finish"]>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "refusal",
};

function understand({ parts, finish, usage }: Received): Understood {
  const calls = parts.flatMap(({ functionCall: call }) =>
    call === undefined
      ? []
      : [{ id: call.id ?? "", name: call.name ?? "", input: (call.args ?? {}) as JsonObject }],
  );
  const textOf = (isThought: boolean) =>
    parts.map(({ text = "", thought = false }) => (thought === isThought ? text : "")).join("");
  const ending = finishes[finish] ?? "other";
  return {
    text: ending === "refusal" ? "" : textOf(false),
    thinking: textOf(true),
    // Its type has a `finishMessage`, which it does not read from the Gemini API.
    refusal: ending === "refusal" ? textOf(false) : "",
    calls,
    finish: ending === "stop" && calls.length > 0 ? "tool_calls" : ending,
    usage: {
      input: usage.promptTokenCount ?? -1,
      cached: usage.cachedContentTokenCount ?? 0,
      output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    },
  };
}
