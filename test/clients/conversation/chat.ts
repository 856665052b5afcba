import type { JsonObject } from "../../../src/base/json.ts";
import {
  addressedAt,
  complain,
  failureWords,
  listOf,
  objectOf,
  type ProviderDialect,
  parsed,
  pictureAt,
  pieces,
  stringOf,
} from "./dialect.ts";
import {
  type Call,
  callsOf,
  type Ending,
  type Heard,
  type TokenCount,
  type Turn,
  textOf,
  type Utterance,
} from "./scenario.ts";

/** A chat provider that reasons in the open, as DeepSeek and most open models do. */
export const chat: ProviderDialect = {
  ...addressedAt("/v1/chat/completions"),
  hear,
  say,
  stream,
  failure: (message) => ({ error: { message, type: "server_error", param: null, code: null } }),
};

const finishes: Readonly<Record<Ending, string | null>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  length: "length",
  // OpenAI ends a refusal like any other answer; the words stand in a field of their own.
  refusal: "stop",
  fails: null,
  cut: null,
};

// ——— Hearing ———

function hear(body: JsonObject): Heard {
  if (body["stream"] === true && objectOf(body["stream_options"])["include_usage"] !== true) {
    complain("a stream is asked for without its usage");
  }
  const [first, ...rest] = listOf(body["messages"]);
  if (first?.["role"] !== "system" && first?.["role"] !== "developer")
    complain("the first message is no instruction:", first);
  const format = objectOf(body["response_format"]);
  return {
    system: textIn(first["content"]),
    spoken: rest.flatMap(hearMessage),
    tools: listOf(body["tools"]).map(({ function: tool }) => {
      const { name, description, parameters } = objectOf(tool);
      return {
        name: stringOf(name, "a tool's name"),
        description: stringOf(description, "a description"),
        schema: parameters,
      };
    }),
    effort: typeof body["reasoning_effort"] === "string" ? body["reasoning_effort"] : null,
    schema: objectOf(format["json_schema"])["schema"] ?? null,
  };
}

function hearMessage(message: JsonObject): Utterance[] {
  switch (message["role"]) {
    case "user":
      return hearUser(message["content"]);
    case "assistant":
      return hearAssistant(message);
    case "tool": {
      const id = stringOf(message["tool_call_id"], "a tool's call");
      return [{ who: "tool", id, text: textIn(message["content"]) }];
    }
    default:
      return complain("a message of nobody:", message);
  }
}

function hearUser(content: unknown): Utterance[] {
  if (typeof content === "string") return [{ who: "user", text: content }];
  return listOf(content).map((part) =>
    part["type"] === "image_url"
      ? { who: "user", picture: pictureAt(objectOf(part["image_url"])["url"]) }
      : { who: "user", text: stringOf(part["text"], "a part") },
  );
}

function hearAssistant(message: JsonObject): Utterance[] {
  const { reasoning_content: reasoning, content, tool_calls: calls } = message;
  const said = content === null || content === undefined ? "" : textIn(content);
  return [
    // DeepSeek wants some with every call, be it empty.
    ...(typeof reasoning === "string" && reasoning !== ""
      ? [{ who: "assistant" as const, thinking: reasoning, proof: null }]
      : []),
    ...(said === "" ? [] : [{ who: "assistant" as const, text: said }]),
    ...listOf(calls).map((call) => ({ who: "assistant" as const, call: hearCall(call) })),
  ];
}

function hearCall(call: JsonObject) {
  const { name, arguments: input } = objectOf(call["function"]);
  return {
    id: stringOf(call["id"], "a call's id"),
    name: stringOf(name, "a call's name"),
    input: parsed(input, "the arguments"),
  };
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => stringOf(part["text"], "a part"))
    .join("");
}

// ——— Saying ———

const head = { id: "chatcmpl-upstream", created: 1_790_000_000, model: "upstream" };

function say({ says, usage, ending }: Turn): JsonObject {
  const text = textOf(says, "text");
  const reasoning = textOf(says, "thinking");
  const calls = callsOf(says).map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    refusal: textOf(says, "refusal") || null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishes[ending] }],
    usage: usageOf(usage),
  };
}

function stream({ says, usage, ending, inSequence }: Turn): string[] {
  const deltas: JsonObject[] = [{ role: "assistant", content: "" }];
  for (const said of says) {
    if (said.type === "thinking")
      for (const piece of pieces(said.text)) deltas.push({ reasoning_content: piece });
    if (said.type === "text") for (const piece of pieces(said.text)) deltas.push({ content: piece });
    if (said.type === "refusal") for (const piece of pieces(said.text)) deltas.push({ refusal: piece });
  }
  const calls = callsOf(says).map(fragmentsOf);
  deltas.push(...(inSequence === true ? calls.flat() : interleaved(calls)));
  const frames = deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }]));
  if (ending === "cut") return frames;
  if (ending === "fails") return [...frames, frame(chat.failure(failureWords))];
  return [
    ...frames,
    ": a comment, as some providers send\n\n",
    chunk([{ index: 0, delta: {}, finish_reason: finishes[ending] }]),
    chunk([], usageOf(usage)),
    "data: [DONE]\n\n",
  ];
}

/** The head of a call, and its arguments in pieces. */
function fragmentsOf({ id, name, input }: Call, index: number): JsonObject[] {
  const head = callDelta({ index, id, type: "function", function: { name, arguments: "" } });
  const rest = pieces(JSON.stringify(input), 7).map((piece) =>
    callDelta({ index, function: { arguments: piece } }),
  );
  return [head, ...rest];
}

/** Parallel calls arrive mixed, a fragment of one and then of the other, as they may. */
function interleaved(calls: readonly (readonly JsonObject[])[]): JsonObject[] {
  const rounds = Math.max(0, ...calls.map((fragments) => fragments.length));
  return Array.from({ length: rounds }, (_, round) =>
    calls.flatMap((fragments) => fragments.slice(round, round + 1)),
  ).flat();
}

function callDelta(call: JsonObject): JsonObject {
  return { tool_calls: [call] };
}

function chunk(choices: JsonObject[], usage: JsonObject | null = null): string {
  return frame({ ...head, object: "chat.completion.chunk", choices, usage });
}

function frame(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function usageOf({ input, cached, output }: TokenCount): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
