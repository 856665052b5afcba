import { type Answer, json, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";

/** A provider's answer with a text and whatever it claims to have counted; `undefined` leaves the usage out. */
export interface Said {
  readonly text: string;
  readonly usage?: unknown;
  /** What a stream claims in its first event. */
  readonly firstUsage?: unknown;
}

export const paths: Readonly<Record<BodyDialectName, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};

/** The same small request in each dialect. */
export function hello(dialect: BodyDialectName, model: string, more: object = {}): object {
  const asked =
    dialect === "responses" ? { input: "Hello" } : { messages: [{ role: "user", content: "Hello" }] };
  return { model, ...asked, ...more };
}

export function wholeAnswer(dialect: BodyDialectName, { text, usage }: Said): Answer {
  const counted = usage === undefined ? {} : { usage };
  switch (dialect) {
    case "chat": {
      const message = { role: "assistant", content: text };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return json({
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "up",
        choices,
        ...counted,
      } as never);
    }
    case "responses": {
      const content = [{ type: "output_text", text, annotations: [] }];
      const output = [{ type: "message", id: "m", role: "assistant", status: "completed", content }];
      const head = { id: "resp_up", object: "response", created_at: 1, model: "up", status: "completed" };
      return json({ ...head, output, ...counted } as never);
    }
    case "messages": {
      const head = { id: "msg", type: "message", role: "assistant", model: "up", stop_reason: "end_turn" };
      return json({ ...head, stop_sequence: null, content: [{ type: "text", text }], ...counted } as never);
    }
  }
}

/** Event by event, word by word. */
export function streamEvents(dialect: BodyDialectName, { text, usage, firstUsage }: Said): string[] {
  const words = text.match(/\s*\S+/g) ?? [];
  switch (dialect) {
    case "chat": {
      const chunk = (choice: object, more: object = {}) =>
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "up", choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`;
      return [
        chunk(
          { delta: { role: "assistant", content: "" } },
          firstUsage === undefined ? {} : { usage: firstUsage },
        ),
        ...words.map((content) => chunk({ delta: { content } })),
        chunk({ delta: {}, finish_reason: "stop" }),
        ...(usage === undefined ? [] : [`data: ${JSON.stringify({ choices: [], usage })}\n\n`]),
        "data: [DONE]\n\n",
      ];
    }
    case "responses": {
      let sequence = 0;
      const event = (type: string, more: object) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...more })}\n\n`;
      const at = { item_id: "m", output_index: 0, content_index: 0 };
      const item = { type: "message", id: "m", role: "assistant" };
      const response = { id: "resp_up", object: "response", created_at: 1, model: "up", output: [] };
      const full = [{ type: "output_text", text, annotations: [] }];
      const output = [{ ...item, status: "completed", content: full }];
      return [
        event("response.created", {
          response: { ...response, status: "in_progress", usage: firstUsage ?? null },
        }),
        event("response.output_item.added", {
          output_index: 0,
          item: { ...item, status: "in_progress", content: [] },
        }),
        event("response.content_part.added", {
          ...at,
          part: { type: "output_text", text: "", annotations: [] },
        }),
        ...words.map((delta) => event("response.output_text.delta", { ...at, delta })),
        event("response.output_text.done", { ...at, text }),
        event("response.output_item.done", { output_index: 0, item: output[0] }),
        event("response.completed", {
          response: { ...response, status: "completed", output, ...(usage === undefined ? {} : { usage }) },
        }),
      ];
    }
    case "messages": {
      const event = (type: string, more: object) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
      const message = { id: "msg", type: "message", role: "assistant", model: "up", content: [] };
      const started = firstUsage === undefined ? {} : { usage: firstUsage };
      return [
        event("message_start", { message: { ...message, stop_reason: null, ...started } }),
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
        ...words.map((word) =>
          event("content_block_delta", { index: 0, delta: { type: "text_delta", text: word } }),
        ),
        event("content_block_stop", { index: 0 }),
        event("message_delta", {
          delta: { stop_reason: "end_turn" },
          ...(usage === undefined ? {} : { usage }),
        }),
        event("message_stop", {}),
      ];
    }
  }
}

export function streamAnswer(dialect: BodyDialectName, said: Said): Answer {
  return sse(streamEvents(dialect, said).join(""));
}

/** The provider's own names for its figures. */
export function usageOf(dialect: BodyDialectName, input: unknown, output: unknown): object {
  if (dialect === "chat") return { prompt_tokens: input, completion_tokens: output };
  return { input_tokens: input, output_tokens: output };
}
