import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { type Framework, type FrameworkRun, instructions, place, question, toolsOf } from "./framework.ts";

/** LangGraph's prebuilt agent on LangChain's models, with their default settings. */
export const langGraph: Framework = {
  name: "@langchain/langgraph",
  dialects: ["chat", "responses", "messages"],
  async run(errand) {
    const agent = createReactAgent({
      llm: modelFor(errand),
      prompt: instructions,
      tools: toolsOf(errand).map(({ name, description, execute }) =>
        tool(async (input) => execute(place.parse(input)), { name, description, schema: place }),
      ),
    });
    const asked = { messages: [{ role: "user", content: question }] };
    if (!errand.stream) return textOf((await agent.invoke(asked)).messages.at(-1));
    const texts = new Map<string, string>();
    for await (const [piece] of await agent.stream(asked, { streamMode: "messages" })) {
      const message = piece as BaseMessage;
      const id = message.id ?? "";
      if (message.getType() === "ai") texts.set(id, (texts.get(id) ?? "") + textOf(message));
    }
    return [...texts.values()].at(-1) ?? "";
  },
};

function modelFor({ access: { url, key, model }, dialect }: FrameworkRun) {
  if (dialect === "messages") {
    return new ChatAnthropic({ model, apiKey: key, anthropicApiUrl: url, maxRetries: 0 });
  }
  return new ChatOpenAI({
    model,
    apiKey: key,
    configuration: { baseURL: `${url}/v1` },
    useResponsesApi: dialect === "responses",
    maxRetries: 0,
  });
}

function textOf(message: BaseMessage | undefined): string {
  return message?.text ?? "";
}
