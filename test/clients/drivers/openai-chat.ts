import OpenAI from "openai";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Ask, type Picture, runTool } from "../conversation/scenario.ts";
import { type Client, isLast, modelAt, mustBeSame, type Understood } from "./client.ts";

type Message = OpenAI.ChatCompletionMessageParam;
type Answer = OpenAI.ChatCompletion;

/** The official package, with the helper that checks what it reads. */
export const openAiChat: Client = {
  name: "openai chat.completions",
  dialect: "chat",
  async converse(access, ask, stream) {
    const client = new OpenAI({ baseURL: `${access.url}/v1`, apiKey: access.key, maxRetries: 0 });
    const messages: Message[] = [
      { role: "developer", content: ask.system },
      { role: "user", content: ask.user.map(partOf) },
    ];
    const answers: Understood[] = [];
    for (;;) {
      const { answer, reasoning } = await request(
        client,
        bodyOf(modelAt(access, answers.length), ask, messages),
        stream,
      );
      const understood = understand(answer, reasoning);
      answers.push(understood);
      if (isLast(ask, answers)) break;
      messages.push(asHistory(answer, reasoning));
      if (understood.calls.length === 0) messages.push({ role: "user", content: ask.reply ?? "" });
      else messages.push(...understood.calls.map((call) => resultOf(ask, call)));
    }
    return answers;
  },
};

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "stream" | "stream_options">;

function bodyOf(model: string, ask: Ask, messages: Message[]): Body {
  return {
    model,
    messages,
    ...(ask.tools.length === 0 ? {} : { tools: ask.tools.map(toolOf) }),
    ...(ask.effort === null ? {} : { reasoning_effort: ask.effort }),
    ...(ask.schema === null
      ? {}
      : {
          response_format: {
            type: "json_schema" as const,
            json_schema: { name: "reply", schema: ask.schema, strict: true },
          },
        }),
  };
}

function partOf(part: string | Picture): OpenAI.ChatCompletionContentPart {
  return typeof part === "string"
    ? { type: "text", text: part }
    : { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
}

function toolOf({ name, description, schema }: Ask["tools"][number]): OpenAI.ChatCompletionTool {
  return { type: "function", function: { name, description, parameters: schema } };
}

interface Received {
  readonly answer: Answer;
  /** The package does not know this field, which other providers send, so it is collected separately. */
  readonly reasoning: string;
}

async function request(client: OpenAI, body: Body, stream: boolean): Promise<Received> {
  if (!stream) {
    const answer = await client.chat.completions.create(body);
    return { answer, reasoning: reasoningIn(answer.choices[0]?.message) };
  }
  let content = "";
  let reasoning = "";
  const events = client.chat.completions
    .stream({ ...body, stream_options: { include_usage: true } })
    .on("content.delta", ({ delta }) => {
      content += delta;
    })
    .on("chunk", ({ choices: [choice] }) => {
      reasoning += reasoningIn(choice?.delta);
    });
  const answer = await events.finalChatCompletion();
  mustBeSame(content, answer.choices[0]?.message.content ?? "", "the content");
  return { answer, reasoning };
}

function reasoningIn(message: object | undefined): string {
  const { reasoning_content: reasoning } = (message ?? {}) as JsonObject;
  return typeof reasoning === "string" ? reasoning : "";
}

const finishes: Readonly<Record<string, Understood["finish"]>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  length: "length",
  content_filter: "refusal",
};

function understand({ choices, usage }: Answer, reasoning: string): Understood {
  const [choice] = choices;
  if (choice === undefined) throw new Error("there is no choice");
  const { content, refusal, tool_calls: calls = [] } = choice.message;
  return {
    text: content ?? "",
    thinking: reasoning,
    refusal: refusal ?? "",
    calls: calls.map((call) => {
      if (call.type !== "function") throw new Error(`a call of type ${call.type}`);
      return { id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) };
    }),
    // OpenAI itself ends a refusal with `stop`; that there are words of it is what tells.
    finish: refusal ? "refusal" : (finishes[choice.finish_reason] ?? "other"),
    usage: {
      input: usage?.prompt_tokens ?? -1,
      cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage?.completion_tokens ?? -1,
    },
  };
}

/** As the documents of providers that reason in the open tell their users to. */
function asHistory({ choices }: Answer, reasoning: string): Message {
  const message = choices[0]?.message;
  const { content = null, tool_calls: calls } = message ?? {};
  const history = {
    role: "assistant" as const,
    content,
    ...(calls === undefined ? {} : { tool_calls: calls }),
  };
  return reasoning === "" ? history : Object.assign(history, { reasoning_content: reasoning });
}

function resultOf(ask: Ask, call: Understood["calls"][number]): Message {
  return { role: "tool", tool_call_id: call.id, content: runTool(ask, call) };
}
