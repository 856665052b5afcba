import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { type Framework, type FrameworkRun, instructions, place, question, toolsOf } from "./framework.ts";

/** It warns of every model that it does not know by name, and it knows none of a gateway's. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/**
 * The Vercel AI SDK as its documentation shows it. In particular nothing says `store: false`, so that its package for
 * Responses refers to earlier items by their ids wherever it can.
 */
export const aiSdkByDefault: Framework = {
  name: "ai, with its default settings",
  dialects: ["chat", "responses", "messages"],
  async run(errand) {
    const options = {
      model: modelFor(errand),
      instructions,
      prompt: question,
      stopWhen: stepCountIs(5),
      tools: Object.fromEntries(
        toolsOf(errand).map(({ name, description, execute }) => [
          name,
          tool({ description, inputSchema: place, execute }),
        ]),
      ),
    };
    if (!errand.stream) return (await generateText(options)).text;
    const running = streamText({ ...options, onError: () => {} });
    for await (const part of running.fullStream) if (part.type === "error") throw part.error;
    return running.text;
  },
};

function modelFor({ access: { url, key, model }, dialect }: FrameworkRun) {
  const baseURL = `${url}/v1`;
  switch (dialect) {
    case "chat":
      return createOpenAICompatible({ name: "sluice", baseURL, apiKey: key })(model);
    case "responses":
      return createOpenAI({ baseURL, apiKey: key })(model);
    case "messages":
      return createAnthropic({ baseURL, apiKey: key })(model);
  }
}
