import type { ExchangeDetailView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import type { PageDialect, Question } from "./dialects.ts";
import { dataOf, EventCutter } from "./sse.ts";

export interface Run {
  readonly state: "running" | "done" | "refused" | "stopped" | "broken";
  readonly status: number | null;
  readonly requestId: string | null;
  readonly text: string;
  readonly events: readonly string[];
  readonly firstByteMs: number | null;
  readonly totalMs: number | null;
  /** What the ledger says of it, once it has ended. */
  readonly detail: ExchangeDetailView | null;
}

export interface Call {
  readonly secret: string;
  readonly path: string;
  readonly dialect: PageDialect;
  readonly question: Question;
}

const start: Run = {
  state: "running",
  status: null,
  requestId: null,
  text: "",
  events: [],
  firstByteMs: null,
  totalMs: null,
  detail: null,
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function pretty(text: string): string {
  const value = parsed(text);
  return value === null ? text : JSON.stringify(value, null, 2);
}

/** Calls the gateway the way every client does, with a key and nothing of the admin session. */
export async function run(call: Call, signal: AbortSignal, show: (run: Run) => void): Promise<void> {
  const { dialect } = call;
  const startedMs = performance.now();
  const sinceMs = () => performance.now() - startedMs;
  let now: Run = start;
  const update = (changes: Partial<Run>) => {
    now = { ...now, ...changes };
    show(now);
  };
  update({});
  try {
    const response = await fetch(call.path, {
      method: "POST",
      credentials: "omit",
      signal,
      headers: { authorization: `Bearer ${call.secret}`, "content-type": "application/json" },
      body: JSON.stringify(dialect.body(call.question)),
    });
    update({ status: response.status, requestId: response.headers.get("x-request-id") });
    const streaming = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (streaming && response.body) await readStream(response.body);
    else await readWhole(response);
    update({ state: response.ok ? "done" : "refused", totalMs: sinceMs() });
  } catch (cause) {
    const words = signal.aborted ? [] : [String(cause)];
    update({
      state: signal.aborted ? "stopped" : "broken",
      totalMs: sinceMs(),
      events: [...now.events, ...words],
    });
  }
  await showCharge();

  async function readStream(body: ReadableStream<Uint8Array>): Promise<void> {
    const cutter = new EventCutter();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = cutter.push(decoder.decode(value, { stream: true }));
      const added = events.map((event) => dialect.delta(parsed(dataOf(event)))).join("");
      update({
        events: [...now.events, ...events],
        text: now.text + added,
        firstByteMs: now.firstByteMs ?? sinceMs(),
      });
    }
  }

  async function readWhole(response: Response): Promise<void> {
    const body = await response.text();
    const text = response.ok ? dialect.text(parsed(body)) : "";
    update({ events: [pretty(body)], text, firstByteMs: sinceMs() });
  }

  async function showCharge(): Promise<void> {
    if (now.requestId === null || now.state === "refused") return;
    const path = `/exchanges/${encodeURIComponent(now.requestId)}`;
    const detail = await api.get<ExchangeDetailView>(path).catch(() => null);
    if (detail) update({ detail });
  }
}
