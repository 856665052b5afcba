import Anthropic from "@anthropic-ai/sdk";
import { type Ask, type Picture, runTool } from "../conversation/scenario.ts";
import { type Client, isLast, modelAt, mustBeSame, type Understood } from "./client.ts";

/** The official package, with the helper that puts a stream together. */
export const anthropicMessages: Client = {
  name: "@anthropic-ai/sdk messages",
  dialect: "messages",
  async converse(access, ask, stream) {
    const client = new Anthropic({ baseURL: access.url, apiKey: access.key, authToken: null, maxRetries: 0 });
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: ask.user.map(blockOf) }];
    const answers: Understood[] = [];
    for (;;) {
      const answer = await request(client, bodyOf(modelAt(access, answers.length), ask, messages), stream);
      const understood = understand(answer);
      answers.push(understood);
      if (isLast(ask, answers)) break;
      messages.push({ role: "assistant", content: answer.content as Anthropic.ContentBlockParam[] });
      const results = understood.calls.map((call) => resultOf(ask, call));
      messages.push({ role: "user", content: results.length === 0 ? (ask.reply ?? "") : results });
    }
    return answers;
  },
};

function bodyOf(
  model: string,
  ask: Ask,
  messages: Anthropic.MessageParam[],
): Anthropic.MessageCreateParamsNonStreaming {
  const config = {
    ...(ask.effort === null ? {} : { effort: ask.effort }),
    ...(ask.schema === null ? {} : { format: { type: "json_schema" as const, schema: ask.schema } }),
  };
  return {
    model,
    max_tokens: 4000,
    system: ask.system,
    messages,
    ...(ask.tools.length === 0 ? {} : { tools: ask.tools.map(toolOf) }),
    ...(ask.effort === null
      ? {}
      : { thinking: { type: "adaptive" as const, display: "summarized" as const } }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
  };
}

function blockOf(part: string | Picture): Anthropic.ContentBlockParam {
  if (typeof part === "string") return { type: "text", text: part };
  const mediaType = part.mediaType as Anthropic.Base64ImageSource["media_type"];
  return { type: "image", source: { type: "base64", media_type: mediaType, data: part.data } };
}

function toolOf({ name, description, schema }: Ask["tools"][number]): Anthropic.Tool {
  return { name, description, input_schema: schema as Anthropic.Tool.InputSchema };
}

async function request(
  client: Anthropic,
  body: Anthropic.MessageCreateParamsNonStreaming,
  stream: boolean,
): Promise<Anthropic.Message> {
  if (!stream) return client.messages.create(body);
  let text = "";
  const events = client.messages.stream(body).on("text", (delta) => {
    text += delta;
  });
  const answer = await events.finalMessage();
  mustBeSame(text, textOf(answer), "the text");
  return answer;
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

const finishes: Readonly<Record<string, Understood["finish"]>> = {
  end_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  refusal: "refusal",
};

function understand(answer: Anthropic.Message): Understood {
  const { content, usage, stop_reason: reason } = answer;
  const refused = reason === "refusal";
  return {
    text: refused ? "" : textOf(answer),
    thinking: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
    refusal: refused ? textOf(answer) || (answer.stop_details?.explanation ?? "") : "",
    calls: content.flatMap((block) =>
      block.type === "tool_use"
        ? [{ id: block.id, name: block.name, input: block.input as Understood["calls"][number]["input"] }]
        : [],
    ),
    finish: finishes[reason ?? ""] ?? "other",
    usage: {
      input:
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      cached: usage.cache_read_input_tokens ?? 0,
      output: usage.output_tokens,
    },
  };
}

function resultOf(ask: Ask, call: Understood["calls"][number]): Anthropic.ToolResultBlockParam {
  return { type: "tool_result", tool_use_id: call.id, content: runTool(ask, call) };
}
