import type { JsonObject } from "../../../src/base/json.ts";
import { failureWords, listOf, pieces, sealed } from "./dialect.ts";
import type { Said, TokenCount, Turn } from "./scenario.ts";

/** What OpenAI echoes of the request, with its defaults. */
function headOf(body: JsonObject): JsonObject {
  return {
    id: "resp_upstream",
    object: "response",
    created_at: 1_790_000_000,
    completed_at: null,
    model: "upstream",
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: null,
    tool_choice: "auto",
    tools: listOf(body["tools"]).map((tool) =>
      tool["type"] === "function" ? { description: null, strict: true, ...tool } : tool,
    ),
    text: body["text"] ?? { format: { type: "text" } },
    store: body["store"] !== false,
    temperature: 1,
    top_p: 1,
    top_logprobs: 0,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: "disabled",
    reasoning: { effort: null, summary: null },
    max_output_tokens: null,
    max_tool_calls: null,
    background: false,
    service_tier: "default",
    safety_identifier: null,
    prompt_cache_key: null,
    user: null,
    access_programs: null,
  };
}

export function responseOf(turn: Turn, body: JsonObject): JsonObject {
  const status = statusOf(turn);
  return {
    ...headOf(body),
    status,
    completed_at: status === "completed" ? 1_790_000_002 : null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    output: turn.says.map((said, at) => itemOf(said, at, status)),
    usage: usageOf(turn.usage),
  };
}

function itemOf(said: Said, at: number, status: string): JsonObject {
  switch (said.type) {
    case "text":
    case "refusal":
      return { id: `msg_up${at}`, type: "message", role: "assistant", status, content: [partOf(said)] };
    case "thinking":
      return {
        id: `rs_up${at}`,
        type: "reasoning",
        summary: [summaryOf(said.text)],
        encrypted_content: sealed(said.proof, "openai"),
      };
    case "call": {
      const call = { status, call_id: said.id, name: said.name };
      return said.freeform === true
        ? { id: `ctc_up${at}`, type: "custom_tool_call", ...call, input: wholeOf(said) }
        : { id: `fc_up${at}`, type: "function_call", ...call, arguments: wholeOf(said) };
    }
  }
}

function partOf(said: Said & { readonly type: "text" | "refusal" }): JsonObject {
  return said.type === "refusal"
    ? { type: "refusal", refusal: said.text }
    : { type: "output_text", text: said.text, annotations: [], logprobs: [] };
}

export function streamResponse(turn: Turn, body: JsonObject): string[] {
  const events = new Events();
  const running = { ...headOf(body), status: "in_progress", output: [], usage: null };
  events.add("response.created", { response: running });
  events.add("response.in_progress", { response: running });
  const breaks = turn.ending === "cut" || turn.ending === "fails";
  for (const group of groupsOf(turn)) {
    for (const at of group) events.begin(turn.says, at);
    events.mixDeltas(turn.says, group);
    if (!breaks) for (const at of group) events.finish(turn.says, at, statusOf(turn));
  }
  if (turn.ending === "fails") {
    const error = { code: "server_error", message: failureWords };
    events.add("response.failed", { response: { ...running, status: "failed", error } });
  } else if (turn.ending !== "cut") {
    events.add(`response.${statusOf(turn)}`, { response: responseOf(turn, body) });
  }
  return events.frames;
}

function statusOf({ ending }: Turn): "completed" | "incomplete" {
  return ending === "length" ? "incomplete" : "completed";
}

/** Calls run in parallel, as the grammar allows; everything else comes one after the other. */
function groupsOf({ says, inSequence }: Turn): number[][] {
  const groups: number[][] = [];
  says.forEach((said, at) => {
    const beside = inSequence !== true && said.type === "call" && says[at - 1]?.type === "call";
    if (beside) groups.at(-1)?.push(at);
    else groups.push([at]);
  });
  return groups;
}

/** The frames of one stream, numbered as they are added. */
class Events {
  readonly frames: string[] = [];

  add(type: string, data: JsonObject): void {
    const event = { type, sequence_number: this.frames.length, ...data };
    this.frames.push(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  }

  begin(says: readonly Said[], at: number): void {
    const said = saidAt(says, at);
    const item = itemOf(said, at, "in_progress");
    this.add("response.output_item.added", { output_index: at, item: { ...item, ...emptyBody(said) } });
    const part = emptied(said);
    if (part !== null) this.add(`response.${part.type}.added`, { ...placeOf(said, at), ...part.fields });
  }

  /** Sends a piece of each in turn, so that parallel items interleave. */
  mixDeltas(says: readonly Said[], places: readonly number[]): void {
    const lists = places.map((at) => pieces(wholeOf(saidAt(says, at)), 5));
    const rounds = Math.max(...lists.map((list) => list.length));
    for (let round = 0; round < rounds; round += 1) {
      lists.forEach((list, index) => {
        const delta = list[round];
        const at = places[index] ?? 0;
        const said = saidAt(says, at);
        const { type, fields } = deltaOf(said);
        if (delta !== undefined)
          this.add(`response.${type}.delta`, { ...placeOf(said, at), ...fields, delta });
      });
    }
  }

  finish(says: readonly Said[], at: number, status: string): void {
    const said = saidAt(says, at);
    const { type, fields, whole } = deltaOf(said);
    const named = type === "function_call_arguments" && said.type === "call" ? { name: said.name } : {};
    this.add(`response.${type}.done`, { ...placeOf(said, at), ...fields, ...named, [whole]: wholeOf(said) });
    const part = partEvent(said);
    if (part !== null) this.add(`response.${part.type}.done`, { ...placeOf(said, at), ...part.fields });
    this.add("response.output_item.done", { output_index: at, item: itemOf(said, at, status) });
  }
}

function emptyBody(said: Said): JsonObject {
  if (said.type === "call") return said.freeform === true ? { input: "" } : { arguments: "" };
  return said.type === "thinking" ? { summary: [] } : { content: [] };
}

function saidAt(says: readonly Said[], at: number): Said {
  const said = says[at];
  if (said === undefined) throw new Error(`nothing is said at ${at}`);
  return said;
}

function placeOf(said: Said, at: number): JsonObject {
  return { item_id: itemOf(said, at, "")["id"] ?? null, output_index: at };
}

function wholeOf(said: Said): string {
  if (said.type !== "call") return said.text;
  return said.freeform === true ? String(said.input["input"]) : JSON.stringify(said.input);
}

/** The part of an item that its text belongs to; calls have none. */
function partEvent(said: Said): { type: string; fields: JsonObject } | null {
  if (said.type === "call") return null;
  return said.type === "thinking"
    ? { type: "reasoning_summary_part", fields: { summary_index: 0, part: summaryOf(said.text) } }
    : { type: "content_part", fields: { content_index: 0, part: partOf(said) } };
}

function emptied(said: Said): { type: string; fields: JsonObject } | null {
  return said.type === "call" ? null : partEvent({ ...said, text: "" });
}

function summaryOf(text: string): JsonObject {
  return { type: "summary_text", text };
}

/** The name of an item's events, the fields that they carry, and the field of the whole at the end. */
function deltaOf(said: Said): { type: string; fields: JsonObject; whole: string } {
  switch (said.type) {
    case "text":
      return { type: "output_text", fields: { content_index: 0, logprobs: [] }, whole: "text" };
    case "refusal":
      return { type: "refusal", fields: { content_index: 0 }, whole: "refusal" };
    case "thinking":
      return { type: "reasoning_summary_text", fields: { summary_index: 0 }, whole: "text" };
    case "call":
      return said.freeform === true
        ? { type: "custom_tool_call_input", fields: {}, whole: "input" }
        : { type: "function_call_arguments", fields: {}, whole: "arguments" };
  }
}

function usageOf({ input, cached, output }: TokenCount): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}
