import OpenAI from "openai";
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputContent,
  ResponseInputItem,
} from "openai/resources/responses/responses";
import { type Ask, type Picture, runTool } from "../conversation/scenario.ts";
import { type Client, isLast, modelAt, mustBeSame, type Understood } from "./client.ts";

/** The official package; its `stream` helper throws at every event that is out of order or unknown. */
export const openAiResponses: Client = {
  name: "openai responses",
  dialect: "responses",
  async converse(access, ask, stream) {
    const client = new OpenAI({ baseURL: `${access.url}/v1`, apiKey: access.key, maxRetries: 0 });
    const input: ResponseInputItem[] = [{ role: "user", content: ask.user.map(partOf) }];
    const answers: Understood[] = [];
    for (;;) {
      const answer = await request(client, bodyOf(modelAt(access, answers.length), ask, input), stream);
      const understood = understand(answer);
      answers.push(understood);
      if (isLast(ask, answers)) break;
      input.push(...(answer.output as ResponseInputItem[]));
      if (understood.calls.length === 0) input.push({ role: "user", content: ask.reply ?? "" });
      else input.push(...understood.calls.map((call) => resultOf(ask, call)));
    }
    return answers;
  },
};

type Body = Omit<ResponseCreateParamsNonStreaming, "stream" | "stream_options">;

function bodyOf(model: string, ask: Ask, input: ResponseInputItem[]): Body {
  return {
    model,
    input,
    instructions: ask.system,
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(ask.tools.length === 0 ? {} : { tools: ask.tools.map(toolOf) }),
    ...(ask.effort === null ? {} : { reasoning: { effort: ask.effort, summary: "auto" as const } }),
    ...(ask.schema === null
      ? {}
      : {
          text: { format: { type: "json_schema" as const, name: "reply", schema: ask.schema, strict: true } },
        }),
  };
}

function partOf(part: string | Picture): ResponseInputContent {
  return typeof part === "string"
    ? { type: "input_text", text: part }
    : { type: "input_image", detail: "auto", image_url: `data:${part.mediaType};base64,${part.data}` };
}

function toolOf({ name, description, schema }: Ask["tools"][number]) {
  return { type: "function" as const, name, description, parameters: schema, strict: false };
}

async function request(client: OpenAI, body: Body, stream: boolean): Promise<Response> {
  let text = "";
  const answer = stream
    ? await client.responses
        .stream(body)
        .on("response.output_text.delta", ({ delta }) => {
          text += delta;
        })
        .finalResponse()
    : await client.responses.create(body);
  // The package returns a failed response like any other; the caller has to check.
  if (answer.status === "failed") throw new Error(`the response failed: ${answer.error?.message}`);
  if (stream) mustBeSame(text, answer.output_text, "the text");
  return answer;
}

function understand(answer: Response): Understood {
  const { output, usage } = answer;
  const calls = output.flatMap((item) =>
    item.type === "function_call"
      ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }]
      : [],
  );
  const said = output.flatMap((item) => (item.type === "message" ? item.content : []));
  const refusal = said.map((part) => (part.type === "refusal" ? part.refusal : "")).join("");
  return {
    text: answer.output_text,
    thinking: output
      .flatMap((item) => (item.type === "reasoning" ? item.summary.map((part) => part.text) : []))
      .join(""),
    refusal,
    calls,
    finish: finishOf(answer, refusal, calls.length),
    usage: {
      input: usage?.input_tokens ?? -1,
      cached: usage?.input_tokens_details.cached_tokens ?? -1,
      output: usage?.output_tokens ?? -1,
    },
  };
}

function finishOf(answer: Response, refusal: string, callCount: number): Understood["finish"] {
  if (refusal !== "") return "refusal";
  if (answer.status === "incomplete") {
    return answer.incomplete_details?.reason === "max_output_tokens" ? "length" : "other";
  }
  if (answer.status !== "completed") return "other";
  return callCount > 0 ? "tool_calls" : "stop";
}

function resultOf(ask: Ask, call: Understood["calls"][number]): ResponseInputItem {
  return { type: "function_call_output", call_id: call.id, output: runTool(ask, call) };
}
