import { GatewayError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { ClientDialect, WriterContext } from "../../dialects/client-dialect.ts";
import { EventCollector } from "../../dialects/ir/events.ts";
import type { IrEvent, ReasoningProof } from "../../dialects/ir/ir.ts";
import { objectsOf } from "../../dialects/json/json-fields.ts";
import type { DemoAnswer } from "./answer.ts";

/** One frame of a stream. Frames with content are paced, the others are sent at once. */
export interface PacedFrame {
  readonly frame: string;
  readonly content: boolean;
}

/** Opaque to clients, who only hand it back. */
const proof: ReasoningProof = { maker: "anthropic", signature: "c2x1aWNlLWRlbW8tc2lnbmF0dXJl" };

/**
 * Writes the demo's answers with the writers of translations, and then patches in what these never produce: several choices,
 * and missing usage.
 */
export class AnswerWriter {
  readonly #dialect: ClientDialect;
  readonly #context: WriterContext;
  readonly #answer: DemoAnswer;
  readonly #choices: number;

  constructor(dialect: ClientDialect, body: JsonObject, answer: DemoAnswer, choices: number) {
    this.#dialect = dialect;
    this.#answer = answer;
    this.#choices = choices;
    // Without usage there is no chunk for it either.
    const asked = answer.usage === null ? { ...body, stream_options: null } : body;
    this.#context = {
      source: {
        dialect,
        body: asked,
        model: String(body["model"]),
        nowSeconds: Math.floor(Date.now() / 1000),
        estimatedInputTokens: answer.usage?.inputTokens ?? 0,
      },
      mint: newId,
      clock: { wallMs: () => Date.now() },
      keepsProofs: true,
    };
  }

  whole(): JsonObject {
    const collector = new EventCollector();
    for (const event of eventsOf(this.#answer)) collector.push(event);
    const written = this.#dialect.writeResponse(collector.response(), this.#context);
    const choices = objectsOf(written["choices"]).flatMap((choice) => this.#copies(choice));
    return this.#told({ ...written, ...(choices.length > 0 ? { choices } : {}) });
  }

  *frames(): Generator<PacedFrame> {
    const writer = this.#dialect.createStreamWriter(this.#context);
    for (const event of eventsOf(this.#answer)) {
      const frame = this.#rewritten(writer.write(event));
      if (frame !== "") yield { frame, content: event.type === "delta" };
    }
    yield { frame: this.#rewritten(writer.terminal()), content: false };
  }

  /** An error in the middle of a stream. */
  errorFrame(message: string): string {
    const error = new GatewayError("upstream_error", message);
    return this.#dialect.createStreamWriter(this.#context).failure(error, newId("req_"), null);
  }

  #rewritten(frames: string): string {
    if (this.#choices === 1 && this.#answer.usage !== null) return frames;
    return frames.replace(/^data: (\{.*\})\n\n/gm, (_frame, json: string) => {
      const data: JsonObject = JSON.parse(json);
      const [choice] = objectsOf(data["choices"]);
      const chunks =
        choice === undefined ? [data] : this.#copies(choice).map((copy) => ({ ...data, choices: [copy] }));
      return chunks.map((chunk) => `data: ${JSON.stringify(this.#told(chunk))}\n\n`).join("");
    });
  }

  /** All choices say the same, but two calls never have the same id. */
  #copies(choice: JsonObject): JsonObject[] {
    return Array.from({ length: this.#choices }, (_, index) => {
      if (index === 0) return choice;
      const text = JSON.stringify({ ...choice, index });
      return JSON.parse(text.replace(/"id":"call_/g, `"id":"call_${index}`));
    });
  }

  /** A provider that reports no usage does not report zeros either. */
  #told(data: JsonObject): JsonObject {
    if (this.#answer.usage !== null) return data;
    const { usage: _, ...told } = data;
    for (const name of ["message", "response"]) {
      const part = told[name];
      if (isObject(part)) told[name] = this.#told(part);
    }
    return told;
  }
}

function* eventsOf({ blocks, finish, usage }: DemoAnswer): Generator<IrEvent> {
  yield { type: "start", usage: usage === null ? null : { ...usage, outputTokens: 0, reasoningTokens: 0 } };
  for (const [index, { head, pieces }] of blocks.entries()) {
    yield { type: "block_start", index, block: head };
    for (const text of pieces) yield { type: "delta", index, text };
    yield { type: "block_end", index, proof: head.type === "reasoning" ? proof : null };
  }
  if (usage !== null) yield { type: "usage", usage };
  yield { type: "finish", finish };
}
