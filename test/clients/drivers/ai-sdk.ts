import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  generateText,
  type JSONSchema7,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  type StepResult,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import type { JsonObject } from "../../../src/base/json.ts";
import type { ClientDialectName } from "../../../src/dialects/registry.ts";
import { type Ask, type Picture, runTool } from "../conversation/scenario.ts";
import { type Access, type Client, modelAt, mostTurns, type Understood } from "./client.ts";

/** It warns of every model that it does not know by name, and it knows none of a gateway's. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** The Vercel AI SDK, which runs the tools by itself, through its package for each dialect. */
export const aiSdk: Readonly<Record<ClientDialectName, Client>> = {
  chat: client("chat", "@ai-sdk/openai-compatible", ({ url, key, model }) =>
    createOpenAICompatible({
      name: "sluice",
      baseURL: `${url}/v1`,
      apiKey: key,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(model),
  ),
  responses: client("responses", "@ai-sdk/openai", ({ url, key, model }) =>
    createOpenAI({ baseURL: `${url}/v1`, apiKey: key }).responses(model),
  ),
  messages: client("messages", "@ai-sdk/anthropic", ({ url, key, model }) =>
    createAnthropic({ baseURL: `${url}/v1`, authToken: key })(model),
  ),
  gemini: client("gemini", "@ai-sdk/google", ({ url, key, model }) =>
    createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: key })(model),
  ),
};

function client(
  dialect: ClientDialectName,
  name: string,
  modelOf: (access: Access) => LanguageModel,
): Client {
  return {
    name: `ai with ${name}`,
    dialect,
    async converse(access, ask, stream) {
      const run = stream ? streamed : whole;
      const asked: ModelMessage[] = [{ role: "user", content: ask.user.map(partOf) }];
      const first = modelOf(access);
      const later = modelOf({ ...access, model: modelAt(access, 1) });
      const { steps, said } = await run(optionsFor([first, later], ask, asked));
      if (ask.reply === null) return steps;
      const replied: ModelMessage[] = [...asked, ...said, { role: "user", content: ask.reply }];
      return [...steps, ...(await run(optionsFor([later, later], ask, replied))).steps];
    },
  };
}

function optionsFor(
  [first, later]: readonly [LanguageModel, LanguageModel],
  ask: Ask,
  messages: ModelMessage[],
) {
  const { effort } = ask;
  return {
    model: first,
    prepareStep: ({ stepNumber }: { stepNumber: number }) => ({ model: stepNumber === 0 ? first : later }),
    maxRetries: 0,
    instructions: ask.system,
    messages,
    tools: Object.fromEntries(ask.tools.map((described) => [described.name, toolOf(ask, described)])),
    stopWhen: stepCountIs(mostTurns),
    ...(ask.schema === null
      ? {}
      : { output: Output.object({ schema: jsonSchema(ask.schema as JSONSchema7) }) }),
    providerOptions: {
      sluice: { ...(effort === null ? {} : { reasoningEffort: effort }) },
      openai: {
        store: false,
        ...(effort === null
          ? {}
          : {
              reasoningEffort: effort,
              reasoningSummary: "auto",
              include: ["reasoning.encrypted_content"],
              // Its list of reasoning models does not know a gateway's names.
              forceReasoning: true,
            }),
      },
      anthropic: {
        structuredOutputMode: "outputFormat",
        ...(effort === null ? {} : { thinking: { type: "adaptive", display: "summarized" }, effort }),
      },
      google: {
        ...(effort === null ? {} : { thinkingConfig: { includeThoughts: true, thinkingLevel: effort } }),
      },
    },
  };
}

function partOf(part: string | Picture) {
  return typeof part === "string"
    ? { type: "text" as const, text: part }
    : { type: "file" as const, data: part.data, mediaType: part.mediaType };
}

function toolOf(ask: Ask, { name, description, schema }: Ask["tools"][number]) {
  return tool({
    description,
    inputSchema: jsonSchema<JsonObject>(schema as JSONSchema7),
    execute: (input) => runTool(ask, { id: "", name, input }),
  });
}

type Options = ReturnType<typeof optionsFor>;

interface Round {
  readonly steps: readonly Understood[];
  /** What the assistant and its tools said, to go on from. */
  readonly said: readonly ModelMessage[];
}

async function whole(options: Options): Promise<Round> {
  const { steps, response } = await generateText(options);
  return { steps: steps.map(understand), said: response.messages };
}

async function streamed(options: Options): Promise<Round> {
  let failure: unknown = null;
  const result = streamText({
    ...options,
    onError: ({ error }) => {
      failure ??= error;
    },
  });
  try {
    for await (const part of result.fullStream) if (part.type === "error") failure ??= part.error;
  } catch (error) {
    // A body that breaks off after an error has been reported.
    failure ??= error;
  }
  // Throw before touching the other promises: they reject too, and the rejections would be unhandled.
  if (failure !== null) throw failure;
  return { steps: (await result.steps).map(understand), said: (await result.response).messages };
}

const finishes: Readonly<Record<string, Understood["finish"]>> = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "refusal",
};

function understand(step: StepResult<ToolSet>): Understood {
  const finish = finishes[step.finishReason] ?? "other";
  return {
    text: finish === "refusal" ? "" : step.text,
    thinking: step.reasoningText ?? "",
    refusal: finish === "refusal" ? step.text || explanationOf(step) : "",
    calls: step.toolCalls.map(({ toolCallId, toolName, input }) => ({
      id: toolCallId,
      name: toolName,
      input: input as JsonObject,
    })),
    finish,
    usage: {
      input: step.usage.inputTokens ?? -1,
      cached: step.usage.inputTokenDetails.cacheReadTokens ?? 0,
      output: step.usage.outputTokens ?? -1,
    },
  };
}

/** Where the packages for Messages and for Gemini keep the explanation of an empty response. */
function explanationOf({ providerMetadata }: StepResult<ToolSet>): string {
  const { explanation } = (providerMetadata?.["anthropic"]?.["stopDetails"] ?? {}) as JsonObject;
  const words = explanation ?? providerMetadata?.["google"]?.["finishMessage"];
  return typeof words === "string" ? words : "";
}
