import type { ExchangeDetailView } from "../../../admin/requests/schema.ts";
import { isObject, tryParse } from "../../../base/json.ts";
import { api } from "../api.ts";
import { type Answer, addressOf, noAnswer } from "./answer.ts";
import { type CallError, errorIn } from "./error.ts";
import { type PageRoute, pathOf, type Question } from "./routes.ts";
import { dataOf, EventCutter } from "./sse.ts";

export interface Run {
  readonly state: "running" | "done" | "rejected" | "failed" | "stopped" | "broken";
  readonly model: string;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly answer: Answer;
  readonly error: CallError | null;
  /** The raw events of a stream, or the whole response. */
  readonly events: readonly string[];
  /** Until the first text; for a response without text, until the first byte. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
  /** The request's record, once it has ended. */
  readonly detail: ExchangeDetailView | null;
}

export interface Call {
  readonly secret: string;
  readonly path: string;
  readonly route: PageRoute;
  readonly question: Question;
  /** JSON to be sent in place of what the route makes of the question. */
  readonly body?: string;
}

const begun: Omit<Run, "model"> = {
  state: "running",
  status: null,
  requestId: null,
  answer: noAnswer,
  error: null,
  events: [],
  firstTokenMs: null,
  totalMs: null,
  detail: null,
};

const retryMs = 1000;
const maxAttempts = 20;
const maxShown = 400;

/** A response formatted for reading; of images and vectors, which are long, only the beginning. */
function pretty(text: string): string {
  const shortened = (_name: string, value: unknown) => {
    if (typeof value === "string" && value.length > maxShown)
      return `${value.slice(0, maxShown)}… (${value.length} characters)`;
    if (Array.isArray(value) && typeof value[0] === "number" && value.length > 8)
      return `[${value.slice(0, 8).join(", ")}, … (${value.length} numbers)]`;
    return value;
  };
  const value = tryParse(text);
  return value === undefined ? text : JSON.stringify(value, shortened, 2);
}

/** Text that is not JSON is sent unchanged: the gateway reports the problem. */
export function bodyOf({
  route,
  question,
  body,
}: Pick<Call, "route" | "question" | "body">): Record<string, unknown> | FormData | string {
  if (body === undefined) return route.body(question);
  const read = tryParse(body);
  return isObject(read) ? { ...read, model: question.model } : body;
}

function request(call: Call): RequestInit {
  const { secret } = call;
  const body = bodyOf(call);
  const isForm = body instanceof FormData;
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(isForm ? {} : { "content-type": "application/json" }),
  };
  return {
    method: "POST",
    credentials: "omit",
    headers,
    body: isForm || typeof body === "string" ? body : JSON.stringify(body),
  };
}

/** Calls the gateway the way every client does, with a key and nothing of the admin session. */
export async function run(call: Call, signal: AbortSignal, show: (run: Run) => void): Promise<void> {
  const { route, question } = call;
  const startedMs = performance.now();
  const sinceMs = () => performance.now() - startedMs;
  let now: Run = { ...begun, model: question.model };
  const update = (changes: Partial<Run>) => {
    now = { ...now, ...changes };
    show(now);
  };
  update({});
  try {
    const response = await fetch(pathOf(route, call.path, question), { ...request(call), signal });
    update({ status: response.status, requestId: response.headers.get("x-request-id") });
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream") && response.body) await readStream(response.body);
    else if (response.ok && route.read === undefined) await readSound(response, type);
    else await readWhole(response);
    const answered = now.error === null ? "done" : "broken";
    const unanswered = response.status < 500 ? "rejected" : "failed";
    update({ state: response.ok ? answered : unanswered, totalMs: sinceMs() });
  } catch (cause) {
    // Some formats break a stream off after its error.
    const unreachable = { code: "unreachable", message: String(cause) };
    const error = signal.aborted ? null : (now.error ?? unreachable);
    update({ state: signal.aborted ? "stopped" : "broken", totalMs: sinceMs(), error });
  }
  await showCharge();

  async function readStream(body: ReadableStream<Uint8Array>): Promise<void> {
    const cutter = new EventCutter();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    const all: unknown[] = [];
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return update({ answer: withCalls({ kind: "text", text }, all) });
      const events = cutter.push(decoder.decode(value, { stream: true }));
      const values = events.map((event) => tryParse(dataOf(event)));
      all.push(...values);
      text += values.map((event) => route.delta?.(event) ?? "").join("");
      update({
        events: [...now.events, ...events],
        answer: { kind: "text", text },
        error: now.error ?? values.map(errorIn).find((error) => error !== null) ?? null,
        firstTokenMs: now.firstTokenMs ?? (text === "" ? null : sinceMs()),
      });
    }
  }

  function withCalls(answer: Answer, values: readonly unknown[]): Answer {
    const calls = route.calls?.(values) ?? [];
    return answer.kind === "text" && calls.length > 0 ? { ...answer, calls } : answer;
  }

  async function readSound(response: Response, type: string): Promise<void> {
    const bytes = await response.arrayBuffer();
    const answer: Answer = { kind: "sound", address: addressOf(bytes, type) };
    update({ answer, events: [`${type}, ${bytes.byteLength} bytes`], firstTokenMs: sinceMs() });
  }

  async function readWhole(response: Response): Promise<void> {
    const text = await response.text();
    const body = tryParse(text);
    const firstTokenMs = sinceMs();
    if (response.ok)
      update({
        answer: withCalls(route.read?.(body, question) ?? noAnswer, [body]),
        events: [pretty(text)],
        firstTokenMs,
      });
    else
      update({
        error: errorIn(body) ?? { code: String(response.status), message: text },
        events: [pretty(text)],
      });
  }

  async function showCharge(): Promise<void> {
    if (now.requestId === null) return;
    const path = `/requests/${encodeURIComponent(now.requestId)}`;
    // A call that was left is settled when its end is noticed. Of some refusals nothing is kept.
    const attempts = now.state === "rejected" || now.state === "failed" ? 1 : maxAttempts;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const detail = await api.get<ExchangeDetailView>(path).catch(() => null);
      if (detail) return update({ detail });
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}
