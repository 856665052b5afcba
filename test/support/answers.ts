import { gzipSync } from "bun";
import type { Json } from "../../src/base/json.ts";

/** One thing that a provider does with the body of its answer. */
export type Step =
  | { readonly write: string | Uint8Array }
  | { readonly sleepMs: number }
  /** Says nothing more and keeps the connection, until the other side leaves. */
  | { readonly stall: true }
  /** Resets the TCP connection. */
  | { readonly reset: true }
  /** Waits for a test to let it go on. */
  | { readonly until: Promise<unknown> };

/** What a provider says. Without a `length` framing the body is chunked and ends when the steps do. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  /** `length` announces the whole body's size; `close` ends the body by closing the connection. */
  readonly framing: "chunked" | "length" | "close";
  /** What to do before the status line. */
  readonly before: readonly Step[];
}

type Options = Partial<Pick<Answer, "status" | "headers" | "framing" | "before">>;

export function json(value: Json, options: Options = {}): Answer {
  return answer([{ write: JSON.stringify(value) }], "application/json", { framing: "length", ...options });
}

/** A stream as one piece; `split`, `drip` and the others say how it arrives. */
export function sse(text: string | Uint8Array, options: Options = {}): Answer {
  return answer([{ write: text }], "text/event-stream; charset=utf-8", options);
}

export function text(body: string, contentType = "text/plain", options: Options = {}): Answer {
  return answer([{ write: body }], contentType, { framing: "length", ...options });
}

export function redirect(to: string): Answer {
  return text("", "text/plain", { status: 307, headers: { location: to } });
}

/** A connection that is cut before a single byte of an answer. */
export function hangUp(): Answer {
  return { ...text(""), before: [{ reset: true }] };
}

/** Never answers at all. */
export function silence(): Answer {
  return { ...text(""), before: [{ stall: true }] };
}

export function openAiError(
  status: number,
  message: string,
  code: string | null = null,
  headers = {},
): Answer {
  return json({ error: { message, type: "some_error", param: null, code } }, { status, headers });
}

export function anthropicError(status: number, type: string, message: string, headers = {}): Answer {
  return json({ type: "error", error: { type, message }, request_id: "req_upstream" }, { status, headers });
}

function answer(steps: readonly Step[], contentType: string, options: Options): Answer {
  const { status = 200, headers = {}, framing = "chunked", before = [] } = options;
  return { status, headers: { "content-type": contentType, ...headers }, steps, framing, before };
}

/** The bytes that an answer writes, all together. */
export function bytesOf(answer: Answer): Uint8Array {
  const parts = answer.steps.flatMap((step) => ("write" in step ? [encode(step.write)] : []));
  return Buffer.concat(parts);
}

export function encode(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data;
}

/** The body in pieces cut at these places, with a pause after each that is long enough to arrive alone. */
export function splitAt(whole: Answer, places: readonly number[], pauseMs = 2): Answer {
  const bytes = bytesOf(whole);
  const inside = places.filter((place) => place > 0 && place < bytes.length);
  const cuts = [0, ...new Set(inside.toSorted((a, b) => a - b)), bytes.length];
  const steps = cuts.slice(1).flatMap((to, index): Step[] => {
    const write = { write: bytes.slice(cuts[index], to) };
    return pauseMs === 0 ? [write] : [write, { sleepMs: pauseMs }];
  });
  return { ...whole, steps };
}

/** Event by event, with a pause after each. */
export function drip(whole: Answer, pauseMs: number): Answer {
  const events = new TextDecoder().decode(bytesOf(whole)).split(/(?<=\n\n)/);
  return { ...whole, steps: events.flatMap((event): Step[] => [{ write: event }, { sleepMs: pauseMs }]) };
}

/** The first bytes of an answer, and then something else: `[{ reset: true }]`, `[{ stall: true }]`, or nothing. */
export function cutAfter(whole: Answer, byteCount: number, then: readonly Step[] = []): Answer {
  return { ...whole, steps: [{ write: bytesOf(whole).slice(0, byteCount) }, ...then] };
}

/** All events before the first that has this text in it, and then something else. */
export function cutBefore(whole: Answer, needle: string, then: readonly Step[] = []): Answer {
  const events = new TextDecoder().decode(bytesOf(whole)).split(/(?<=\n\n)/);
  const first = events.findIndex((event) => event.includes(needle));
  if (first === -1) throw new Error(`no event has ${needle}`);
  return { ...whole, steps: [{ write: events.slice(0, first).join("") }, ...then] };
}

/** The first event that has this text in it, and all behind it, wait for a test to let them go on. */
export function heldBefore(whole: Answer, needle: string, until: Promise<unknown>): Answer {
  const before = cutBefore(whole, needle);
  const rest = bytesOf(whole).slice(bytesOf(before).length);
  return { ...before, steps: [...before.steps, { until }, { write: rest }] };
}

export function compressed(whole: Answer): Answer {
  const bytes = gzipSync(Buffer.from(bytesOf(whole)));
  return { ...whole, headers: { ...whole.headers, "content-encoding": "gzip" }, steps: [{ write: bytes }] };
}

export function delayed(whole: Answer, ms: number): Answer {
  return { ...whole, before: [{ sleepMs: ms }, ...whole.before] };
}
