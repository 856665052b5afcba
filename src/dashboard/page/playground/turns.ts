import { isObject, tryParse } from "../../../base/json.ts";
import { listAt, numberAt, textAt, valueAt } from "./json.ts";

/** A tool that a model wants to have called. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As JSON. */
  readonly arguments: string;
}

/** A message of a conversation, which each dialect writes in its own way. */
export type Turn =
  | { readonly by: "user"; readonly text: string; readonly images: readonly AttachedImage[] }
  | { readonly by: "model"; readonly text: string; readonly calls: readonly ToolCall[] }
  /** The results of the previous turn's tool calls. */
  | { readonly by: "tools"; readonly text: string; readonly calls: readonly ToolCall[] };

export interface AttachedImage {
  readonly name: string;
  /** `data:image/png;base64,…` */
  readonly address: string;
}

type Json = Record<string, unknown>;

export function chatMessages(turns: readonly Turn[]): readonly Json[] {
  return turns.flatMap((turn): Json[] => {
    if (turn.by === "tools") {
      return turn.calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: turn.text }));
    }
    if (turn.by === "model") {
      const calls = turn.calls.map(({ id, name, arguments: given }) => ({
        ...{ id, type: "function" },
        function: { name, arguments: given },
      }));
      return [{ role: "assistant", content: turn.text, ...(calls.length > 0 && { tool_calls: calls }) }];
    }
    if (turn.images.length === 0) return [{ role: "user", content: turn.text }];
    const images = turn.images.map(({ address }) => ({ type: "image_url", image_url: { url: address } }));
    return [{ role: "user", content: [...images, { type: "text", text: turn.text }] }];
  });
}

/** A first message without images is a text. */
export function responsesInput(turns: readonly Turn[]): unknown {
  const [first] = turns;
  if (turns.length === 1 && first?.by === "user" && first.images.length === 0) return first.text;
  return turns.flatMap((turn): Json[] => {
    if (turn.by === "tools") {
      return turn.calls.map(({ id }) => ({ type: "function_call_output", call_id: id, output: turn.text }));
    }
    if (turn.by === "model") {
      const calls = turn.calls.map(({ id, name, arguments: given }) => ({
        ...{ type: "function_call", call_id: id, name, arguments: given },
      }));
      return [...(turn.text === "" ? [] : [{ role: "assistant", content: turn.text }]), ...calls];
    }
    if (turn.images.length === 0) return [{ role: "user", content: turn.text }];
    const images = turn.images.map(({ address }) => ({ type: "input_image", image_url: address }));
    return [{ role: "user", content: [...images, { type: "input_text", text: turn.text }] }];
  });
}

export function anthropicMessages(turns: readonly Turn[]): readonly Json[] {
  return turns.map((turn): Json => {
    if (turn.by === "tools") {
      const results = turn.calls.map(({ id }) => ({
        ...{ type: "tool_result", tool_use_id: id, content: turn.text },
      }));
      return { role: "user", content: results };
    }
    if (turn.by === "model") {
      if (turn.calls.length === 0) return { role: "assistant", content: turn.text };
      const calls = turn.calls.map(({ id, name, arguments: given }) => ({
        ...{ type: "tool_use", id, name, input: tryParse(given) ?? {} },
      }));
      return { role: "assistant", content: [...textBlocks(turn.text), ...calls] };
    }
    if (turn.images.length === 0) return { role: "user", content: turn.text };
    return { role: "user", content: [...turn.images.map(anthropicImage), ...textBlocks(turn.text)] };
  });
}

function textBlocks(text: string): readonly Json[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function anthropicImage(image: AttachedImage): Json {
  return { type: "image", source: { type: "base64", ...dataOf(image) } };
}

function dataOf({ address }: AttachedImage): { readonly media_type: string; readonly data: string } {
  const [, type = "", data = ""] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(address) ?? [];
  return { media_type: type, data };
}

export function googleContents(turns: readonly Turn[]): readonly Json[] {
  return turns.map((turn): Json => {
    if (turn.by === "tools") {
      const response = { output: turn.text };
      const parts = turn.calls.map(({ id, name }) => ({ functionResponse: { id, name, response } }));
      return { role: "user", parts };
    }
    const texts = turn.text === "" ? [] : [{ text: turn.text }];
    if (turn.by === "user") return { role: "user", parts: [...turn.images.map(googleImage), ...texts] };
    const calls = turn.calls.map(({ id, name, arguments: given }) => ({
      functionCall: { id, name, args: tryParse(given) ?? {} },
    }));
    return { role: "model", parts: [...texts, ...calls] };
  });
}

function googleImage(image: AttachedImage): Json {
  const { media_type: mimeType, data } = dataOf(image);
  return { inlineData: { mimeType, data } };
}

/** The tool calls of a non-streaming response, or of the events of a stream. */
export function chatCalls(values: readonly unknown[]): readonly ToolCall[] {
  return merged(
    values.flatMap((value) => [
      ...listAt(value, "choices.0.message.tool_calls"),
      ...listAt(value, "choices.0.delta.tool_calls"),
    ]),
    (part) => ({
      id: textAt(part, "id"),
      name: textAt(part, "function.name"),
      arguments: textAt(part, "function.arguments"),
    }),
  );
}

export function responsesCalls(values: readonly unknown[]): readonly ToolCall[] {
  return values
    .flatMap((value) => [...listAt(value, "output"), ...listAt(value, "response.output")])
    .filter((item) => textAt(item, "type") === "function_call")
    .map((item) => ({
      id: textAt(item, "call_id"),
      name: textAt(item, "name"),
      arguments: textAt(item, "arguments"),
    }));
}

export function anthropicCalls(values: readonly unknown[]): readonly ToolCall[] {
  const whole = values
    .flatMap((value) => listAt(value, "content"))
    .filter((block) => textAt(block, "type") === "tool_use")
    .map((block) => ({
      id: textAt(block, "id"),
      name: textAt(block, "name"),
      arguments: JSON.stringify(valueAt(block, "input") ?? {}),
    }));
  const parts = values.filter(
    (value) =>
      textAt(value, "content_block.type") === "tool_use" ||
      textAt(value, "delta.type") === "input_json_delta",
  );
  const streamed = merged(parts, (part) => ({
    id: textAt(part, "content_block.id"),
    name: textAt(part, "content_block.name"),
    arguments: textAt(part, "delta.partial_json"),
  }));
  return [...whole, ...streamed];
}

export function googleCalls(values: readonly unknown[]): readonly ToolCall[] {
  return values
    .flatMap((value) => listAt(value, "candidates.0.content.parts"))
    .map((part) => valueAt(part, "functionCall"))
    .filter((call) => call !== undefined)
    .map((call) => ({
      id: textAt(call, "id"),
      name: textAt(call, "name"),
      arguments: JSON.stringify(valueAt(call, "args") ?? {}),
    }));
}

/** Joins the parts of each call, which have the same `index`. Parts without one are whole. */
function merged(parts: readonly unknown[], read: (part: unknown) => ToolCall): readonly ToolCall[] {
  const calls = new Map<string, ToolCall>();
  for (const [place, part] of parts.entries()) {
    const key = isObject(part) && "index" in part ? `${numberAt(part, "index")}` : `whole ${place}`;
    const before = calls.get(key);
    const next = read(part);
    calls.set(key, {
      id: (before?.id ?? "") || next.id,
      name: (before?.name ?? "") || next.name,
      arguments: (before?.arguments ?? "") + next.arguments,
    });
  }
  return [...calls.values()].map((call) => ({ ...call, arguments: call.arguments || "{}" }));
}
