/** What the page needs to know of each dialect, beside its route: how to ask, and where the text is in what comes back. */
export interface Question {
  readonly model: string;
  readonly system: string;
  readonly text: string;
  readonly maxTokens: number | null;
  readonly stream: boolean;
}

export interface PageDialect {
  readonly name: string;
  body(question: Question): Record<string, unknown>;
  /** The text that one event of a stream adds. */
  delta(event: unknown): string;
  /** The text of a whole answer. */
  text(answer: unknown): string;
}

/** Reads `a.b.0.c` out of parsed JSON, empty where it is not a text. */
function textAt(value: unknown, path: string): string {
  let here = value;
  for (const name of path.split(".")) {
    if (typeof here !== "object" || here === null) return "";
    here = (here as Record<string, unknown>)[name];
  }
  return typeof here === "string" ? here : "";
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : null;
  return Array.isArray(list) ? list : [];
}

const chat: PageDialect = {
  name: "Chat completions",
  body: ({ model, system, text, maxTokens, stream }) => ({
    model,
    messages: [
      ...(system === "" ? [] : [{ role: "system", content: system }]),
      { role: "user", content: text },
    ],
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  }),
  delta: (event) => textAt(event, "choices.0.delta.content"),
  text: (answer) => textAt(answer, "choices.0.message.content"),
};

const responses: PageDialect = {
  name: "Responses",
  body: ({ model, system, text, maxTokens, stream }) => ({
    model,
    input: text,
    ...(system === "" ? {} : { instructions: system }),
    ...(maxTokens === null ? {} : { max_output_tokens: maxTokens }),
    ...(stream ? { stream } : {}),
  }),
  delta: (event) => (textAt(event, "type") === "response.output_text.delta" ? textAt(event, "delta") : ""),
  text: (answer) =>
    listAt(answer, "output")
      .flatMap((item) => listAt(item, "content"))
      .map((part) => textAt(part, "text"))
      .join(""),
};

const messages: PageDialect = {
  name: "Messages",
  body: ({ model, system, text, maxTokens, stream }) => ({
    model,
    max_tokens: maxTokens ?? 1024,
    messages: [{ role: "user", content: text }],
    ...(system === "" ? {} : { system }),
    ...(stream ? { stream } : {}),
  }),
  delta: (event) => (textAt(event, "type") === "content_block_delta" ? textAt(event, "delta.text") : ""),
  text: (answer) =>
    listAt(answer, "content")
      .map((part) => textAt(part, "text"))
      .join(""),
};

/** By their names at the server; it is asked which of them there are. */
export const pageDialects = { chat, responses, messages };
