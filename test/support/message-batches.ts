import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, anthropicError, json, text } from "./answers.ts";
import { usualResponse } from "./fixtures.ts";
import type { SeenRequest } from "./provider.ts";

export interface SentLine {
  readonly custom_id: string;
  readonly params: JsonObject;
}

export interface SentBatch {
  readonly id: string;
  readonly lines: readonly SentLine[];
  readonly createdAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  endsAtMs: number;
  cancelledAtMs: number | null;
}

/** What the provider makes of a line: a member `result` of its results. */
export type ResultOf = (line: SentLine, place: number, batch: SentBatch) => JsonObject;

const path = "/anthropic/v1/messages/batches";

/** Anthropic's message batches, with whatever may go wrong. Use `script` as the script of a provider. */
export class MessageBatches {
  readonly batches: SentBatch[] = [];
  /** How long a batch takes. */
  takesMs = 0;
  resultOf: ResultOf = (line, place) => succeeded(line, place);
  /** The lines of the results, in the order in which they are sent. */
  arrange: (lines: readonly string[]) => readonly string[] = (lines) => lines;
  /** Answers in place of the usual ones. */
  fault: (request: SeenRequest, at: "create" | "list" | "get" | "cancel" | "results") => Answer | null = () =>
    null;

  readonly script = (request: SeenRequest): Answer => {
    if (!request.path.startsWith(path)) return usualResponse(request);
    const [, id, what] = /^\/([\w-]+)(?:\/(\w+))?/.exec(request.path.slice(path.length)) ?? [];
    const at = id === undefined ? (request.method === "POST" ? "create" : "list") : (what ?? "get");
    const fault = this.fault(request, at as "get");
    if (fault !== null) return fault;
    if (at === "create") return json(shown(this.create(request)));
    if (at === "list") {
      const data = this.batches.toReversed().map(shown);
      return json({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null });
    }
    const batch = this.named(request);
    if (batch === undefined) return anthropicError(404, "not_found_error", "no such batch");
    if (at === "cancel") batch.cancelledAtMs ??= Date.now();
    if (at === "cancel") batch.endsAtMs = Math.min(batch.endsAtMs, Date.now() + 50);
    return at === "results" ? this.results(batch) : json(shown(batch));
  };

  /** The batch that a request names in its path. A busy gateway sends lines in several. */
  named({ path: asked }: Pick<SeenRequest, "path">): SentBatch | undefined {
    return this.batches.find(({ id }) => asked.startsWith(`${path}/${id}/`) || asked === `${path}/${id}`);
  }

  create({ body, headers }: Pick<SeenRequest, "body" | "headers">): SentBatch {
    const createdAtMs = Date.now();
    const batch: SentBatch = {
      id: `msgbatch_${this.batches.length}_${createdAtMs}`,
      lines: body["requests"] as unknown as SentLine[],
      createdAtMs,
      headers,
      endsAtMs: createdAtMs + this.takesMs,
      cancelledAtMs: null,
    };
    this.batches.push(batch);
    return batch;
  }

  results(batch: SentBatch): Answer {
    if (Date.now() < batch.endsAtMs) return anthropicError(404, "not_found_error", "it has not ended");
    const lines = batch.lines.map((line, place) => {
      const isCancelled = batch.cancelledAtMs !== null && place % 2 === 1;
      const result = isCancelled ? { type: "canceled" } : this.resultOf(line, place, batch);
      return JSON.stringify({ custom_id: line.custom_id, result });
    });
    const body = this.arrange(lines)
      .map((line) => `${line}\n`)
      .join("");
    return text(body, "application/x-jsonl");
  }

  /** Every line that a provider has been paid for. */
  get linesSent(): readonly SentLine[] {
    return this.batches.flatMap(({ lines }) => lines);
  }
}

function shown({ id, lines, createdAtMs, endsAtMs, cancelledAtMs }: SentBatch) {
  const hasEnded = Date.now() >= endsAtMs;
  const none = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  return {
    id,
    type: "message_batch",
    processing_status: hasEnded ? "ended" : cancelledAtMs === null ? "in_progress" : "canceling",
    request_counts: { ...none, [hasEnded ? "succeeded" : "processing"]: lines.length },
    created_at: new Date(createdAtMs).toISOString(),
    results_url: hasEnded ? `https://provider.example${path}/${id}/results` : null,
  };
}

/** The usage of the n-th question: an independent sum of what is charged can be made of it. */
export function usageOf(question: number) {
  return { input_tokens: 11 + question, output_tokens: 3 + (question % 5) };
}

export function questionOf({ params }: SentLine): number {
  return Number(/Question (\d+)/.exec(JSON.stringify(params))?.[1] ?? 0);
}

export function succeeded(line: SentLine, _place = 0): JsonObject {
  const question = questionOf(line);
  const message = {
    id: `msg_${line.custom_id}`,
    type: "message",
    role: "assistant",
    model: "claude-upstream",
    content: [{ type: "text", text: `Answer ${question}` }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      ...usageOf(question),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      service_tier: "batch",
    },
  };
  return { type: "succeeded", message };
}

export function errored(type: string, message = "it failed"): JsonObject {
  return { type: "errored", error: { type: "error", error: { type, message } } };
}

/** A model whose lines run at the provider. */
export const nativeModel = `
[[models]]
id = "claude-batch"
provider = "anthropic"
upstream_model = "claude-upstream"
context_window = 200000
max_output_tokens = 4096
batch = "native"
[models.price]
input = 1.0
output = 2.0
[models.price.tiers.batch]
input = 0.5
output = 1.0
`;

/** Nano-credits: half a dollar per million input tokens, and one for output. */
export function costOf(question: number): number {
  const { input_tokens, output_tokens } = usageOf(question);
  return input_tokens * 500 + output_tokens * 1000;
}
