import type { BodyDialectName } from "../support/body-dialects.ts";

/** A byte that stands in every content event exactly once, so that counting events is counting bytes. */
export const markerByte = 0x7e;
const marker = "~";

/** Content events of one stream; what a dialect sends around them comes on top. */
export const eventsPerStream = 200;

/** A thousand streams at once, each of which the provider sends an event at a time. */
export interface Pacing {
  readonly name: string;
  /** The provider's name in the configuration and its first path segment. Its model is called the same behind `bench-`. */
  readonly provider: string;
  readonly events: number;
  readonly gapMs: number;
  /** Each connection asks for so many streams, one after the other. */
  readonly streamsPerConnection: number;
  /** A while in which all streams run and what began them is compiled. */
  readonly steadyMs: { readonly from: number; readonly until: number } | null;
}

export const steady: Pacing = {
  name: "1,000 paced streams",
  provider: "paced",
  events: 100,
  gapMs: 50,
  streamsPerConnection: 1,
  steadyMs: { from: 2500, until: 4500 },
};

/** A thousand streams end and a thousand begin at once, on a gateway that is busy with them. */
export const turnover: Pacing = {
  name: "1,000 streams × 64 events, 20 ms, two per connection",
  provider: "turnover",
  events: 64,
  gapMs: 20,
  streamsPerConnection: 2,
  steadyMs: null,
};

export const pacings = [steady, turnover];

/** What a request asks for: an answer in a dialect, or vectors. */
export type Asked = BodyDialectName | "embeddings";

export const paths: Readonly<Record<Asked, string>> = {
  embeddings: "/v1/embeddings",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};

export type BodySize = "1 KB" | "100 KB";

/** A client's request: a conversation of short turns, as long as asked. */
export function requestBody(dialect: Asked, model: string, size: BodySize, stream: boolean): string {
  if (dialect === "embeddings") return embeddingsBody(model);
  const turns = conversation(size === "1 KB" ? 4 : 480);
  const head = { model, ...(stream ? { stream } : {}) };
  if (dialect === "responses") return JSON.stringify({ ...head, max_output_tokens: 512, input: turns });
  return JSON.stringify({ ...head, max_tokens: 512, messages: turns });
}

const embeddedTexts = 100;

/** As the SDKs ask: in base64. */
function embeddingsBody(model: string): string {
  const input = conversation(embeddedTexts).map(({ content }) => content);
  return JSON.stringify({ model, input, encoding_format: "base64" });
}

function conversation(turns: number): { role: string; content: string }[] {
  const sentence =
    'The harbour "opens" at first light;\nboats queue along the quay, each waits its turn, and the lock-keeper ' +
    "writes down every name before the gates move. What would you ask him first, and why that?";
  return Array.from({ length: turns }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index}: ${sentence}`,
  }));
}

const words = "The tide turns twice a day and nobody has to ask it to. ".repeat(10);

/** In ids, for the provider to write a number in its place. */
export const unnumbered = "0000000000";
/** As long as OpenAI's ids, and in the order of time as they are: that decides which pages a gateway writes. */
const uniqueId = `68f3c0de${unnumbered}819a9d8e4c1f7b2a6d5e3c8f9b1a7d`;

/** Whole answers of about 1 KB. */
export const answers: Readonly<Record<Asked, string>> = {
  /** A hundred vectors of 1,536 numbers. */
  embeddings: JSON.stringify({
    object: "list",
    data: Array.from({ length: embeddedTexts }, (_, index) => ({
      object: "embedding",
      index,
      embedding: Buffer.alloc(1536 * 4, index).toString("base64"),
    })),
    model: "bench-upstream",
    usage: { prompt_tokens: 5000, total_tokens: 5000 },
  }),
  chat: JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "bench-upstream",
    choices: [{ index: 0, message: { role: "assistant", content: words }, finish_reason: "stop" }],
    usage: { prompt_tokens: 250, completion_tokens: 140, total_tokens: 390 },
  }),
  responses: JSON.stringify({
    id: `resp_${uniqueId}`,
    object: "response",
    store: false,
    created_at: 1_700_000_000,
    status: "completed",
    model: "bench-upstream",
    output: [
      {
        type: "message",
        id: `msg_${uniqueId}`,
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: words, annotations: [] }],
      },
    ],
    usage: { input_tokens: 250, output_tokens: 140, total_tokens: 390 },
  }),
  messages: JSON.stringify({
    id: "msg_bench",
    type: "message",
    role: "assistant",
    model: "bench-upstream",
    content: [{ type: "text", text: words }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 250, output_tokens: 140 },
  }),
};

/** The events of one stream, each with its framing, with `count` content events among them. */
export function streamEvents(dialect: BodyDialectName, count: number): string[] {
  const text = ` tide${marker}`;
  const content = Array.from({ length: count }, () => text);
  if (dialect === "chat") return chatEvents(content);
  return dialect === "responses" ? responsesEvents(content) : messagesEvents(content);
}

function chatEvents(content: readonly string[]): string[] {
  const chunk = (rest: object) =>
    `data: ${JSON.stringify({ id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000, model: "bench-upstream", ...rest })}\n\n`;
  const delta = (fields: object, finish: string | null) =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
  return [
    delta({ role: "assistant", content: "" }, null),
    ...content.map((text) => delta({ content: text }, null)),
    delta({}, "stop"),
    chunk({
      choices: [],
      usage: { prompt_tokens: 250, completion_tokens: content.length, total_tokens: 250 + content.length },
    }),
    "data: [DONE]\n\n",
  ];
}

function responsesEvents(content: readonly string[]): string[] {
  let sequence = 0;
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...rest })}\n\n`;
  const response = (status: string, rest: object = {}) => ({
    response: {
      id: "resp_bench",
      object: "response",
      store: false,
      created_at: 1_700_000_000,
      status,
      model: "bench-upstream",
      output: [],
      ...rest,
    },
  });
  const item = { type: "message", id: "msg_bench", role: "assistant" };
  const place = { item_id: "msg_bench", output_index: 0, content_index: 0 };
  const part = (text: string) => ({ type: "output_text", text, annotations: [] });
  const message = { ...item, status: "completed", content: [part("tide")] };
  // The whole text is not repeated in the closing events: a marker there would count as another event.
  return [
    event("response.created", response("in_progress")),
    event("response.output_item.added", {
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    }),
    event("response.content_part.added", { ...place, part: part("") }),
    ...content.map((text) => event("response.output_text.delta", { ...place, delta: text })),
    event("response.output_text.done", { ...place, text: "tide" }),
    event("response.content_part.done", { ...place, part: part("tide") }),
    event("response.output_item.done", { output_index: 0, item: message }),
    event(
      "response.completed",
      response("completed", {
        output: [message],
        usage: { input_tokens: 250, output_tokens: content.length, total_tokens: 250 + content.length },
      }),
    ),
  ];
}

function messagesEvents(content: readonly string[]): string[] {
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  return [
    event("message_start", {
      message: {
        id: "msg_bench",
        type: "message",
        role: "assistant",
        model: "bench-upstream",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 250, output_tokens: 1 },
      },
    }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...content.map((text) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } })),
    event("content_block_stop", { index: 0 }),
    event("message_delta", {
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: content.length },
    }),
    event("message_stop", {}),
  ];
}
