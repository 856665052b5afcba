import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { type Framework, type FrameworkRun, instructions, place, question, toolsOf } from "./framework.ts";

setTracingDisabled(true);

/** OpenAI's Agents SDK, with its default settings. */
export const openAiAgents: Framework = {
  name: "@openai/agents",
  dialects: ["chat", "responses"],
  async run(errand) {
    const agent = agentFor(errand);
    if (!errand.stream) return String((await new Runner().run(agent, question)).finalOutput);
    const running = await new Runner().run(agent, question, { stream: true });
    let text = "";
    for await (const piece of running.toTextStream()) text += piece;
    await running.completed;
    if (!text.endsWith(String(running.finalOutput))) throw new Error(`the pieces were ${text}`);
    return String(running.finalOutput);
  },
};

function agentFor(errand: FrameworkRun) {
  const { url, key, model } = errand.access;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  return new Agent({
    name: "Errands",
    instructions,
    model:
      errand.dialect === "chat"
        ? new OpenAIChatCompletionsModel(client, model)
        : new OpenAIResponsesModel(client, model),
    tools: toolsOf(errand).map(({ name, description, execute }) =>
      tool({ name, description, parameters: place, execute: async (input) => execute(input) }),
    ),
  });
}
