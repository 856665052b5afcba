import {
  Agent,
  type Model,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  OpenAIResponsesWSModel,
  Runner,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import type { Access } from "../drivers/client.ts";
import { type Framework, type FrameworkRun, instructions, place, question, toolsOf } from "./framework.ts";

setTracingDisabled(true);

/** OpenAI's Agents SDK, with its default settings. */
export const openAiAgents: Framework = {
  name: "@openai/agents",
  dialects: ["chat", "responses"],
  run: (errand) => runAgent(errand),
};

/** The same with a WebSocket for each run. */
export const openAiAgentsOnSocket: Framework = {
  name: "@openai/agents over WebSocket",
  dialects: ["responses"],
  async run(errand) {
    const sockets: OpenAIResponsesWSModel[] = [];
    try {
      return await runAgent(errand, (client, model) => {
        const socket = new OpenAIResponsesWSModel(client, model);
        sockets.push(socket);
        return socket;
      });
    } finally {
      for (const socket of sockets) await socket.close();
    }
  },
};

type ModelMaker = (client: OpenAI, model: string) => Model;

async function runAgent(errand: FrameworkRun, makeModel?: ModelMaker): Promise<string> {
  const agent = agentFor(errand, makeModel);
  if (!errand.stream) return String((await new Runner().run(agent, question)).finalOutput);
  const running = await new Runner().run(agent, question, { stream: true });
  let text = "";
  for await (const piece of running.toTextStream()) text += piece;
  await running.completed;
  if (!text.endsWith(String(running.finalOutput))) throw new Error(`the pieces were ${text}`);
  return String(running.finalOutput);
}

function modelFor({ dialect }: FrameworkRun, client: OpenAI, model: string): Model {
  return dialect === "chat"
    ? new OpenAIChatCompletionsModel(client, model)
    : new OpenAIResponsesModel(client, model);
}

export function clientOf({ url, key }: Access): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
}

export function agentFor(
  errand: FrameworkRun,
  makeModel: ModelMaker = (client, model) => modelFor(errand, client, model),
) {
  const { access } = errand;
  return new Agent({
    name: "Errands",
    instructions,
    model: makeModel(clientOf(access), access.model),
    tools: toolsOf(errand).map(({ name, description, execute }) =>
      tool({ name, description, parameters: place, execute: async (input) => execute(input) }),
    ),
  });
}
