import {
  type Answer,
  compressed,
  cutBefore,
  drip,
  hangUp,
  json,
  redirect,
  silence,
  sse,
  text,
} from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { answerFrom } from "../support/fixtures.ts";

/**
 * The upstream faults as one table. `R`: the hold is released in full. `P`: what was produced is charged.
 * A fault before the first byte gets a status; a later one is reported in-band and never looks like a normal end.
 */
export interface Fault {
  readonly name: string;
  readonly stream: boolean;
  readonly answer: (dialect: BodyDialectName) => Answer;
  readonly expected:
    | { readonly status: number; readonly code: string; readonly messagesStatus?: number }
    | "in-band";
  readonly bill: "R" | "P";
  readonly retryAfter?: string;
  /** How often the provider is asked; once unless told. */
  readonly attempts?: number;
  /** Where the provider is said to be, if not where it is; `plain` is a web server without TLS. */
  readonly baseUrl?: (plain: string) => string;
  /** The stream shows life before it ends. */
  readonly beats?: true;
}

/** An event that only comes after content, in each dialect. */
const lateEvent: Readonly<Record<BodyDialectName, string>> = {
  chat: '"finish_reason":"stop"',
  responses: "response.output_text.done",
  messages: "content_block_stop",
};

const stream = (dialect: BodyDialectName) => answerFrom(`${dialect}/text.sse`);
const whole = (dialect: BodyDialectName) => answerFrom(`${dialect}/text.json`);
const afterContent = (then: Answer["steps"]) => (dialect: BodyDialectName) =>
  cutBefore(stream(dialect), lateEvent[dialect], then);
const errorFrame = 'data: {"type":"error","error":{"type":"server_error","message":"it broke"}}\n\n';
const upstreamError = { status: 502, code: "upstream_error" };
const unreachable = { status: 502, code: "provider_unavailable" };
/** No name server is asked for it: a part of a name has at most 63 letters. */
const noSuchHost = `http://${"x".repeat(64)}.invalid`;
const tooSlow = { status: 502, code: "upstream_error", messagesStatus: 504 };

export const faults: readonly Fault[] = [
  ...Object.entries({
    "refuses connections": () => "http://127.0.0.1:1",
    "has a name that nobody knows": () => noSuchHost,
    "speaks no TLS": (plain: string) => plain.replace("http:", "https:"),
  }).map(
    ([name, baseUrl]): Fault => ({
      name,
      stream: true,
      baseUrl,
      answer: silence,
      expected: unreachable,
      bill: "R",
      attempts: 0,
    }),
  ),
  { name: "hangs up before headers", stream: true, answer: hangUp, expected: upstreamError, bill: "R" },
  { name: "is silent before headers", stream: false, answer: silence, expected: tooSlow, bill: "R" },
  {
    // The heartbeat is due before the deadline, so the status was sent.
    name: "is silent before headers of a stream",
    stream: true,
    answer: silence,
    expected: "in-band",
    bill: "R",
  },
  {
    name: "falls silent mid-stream",
    stream: true,
    beats: true,
    answer: afterContent([{ stall: true }]),
    expected: "in-band",
    bill: "P",
  },
  {
    name: "resets mid-stream",
    stream: true,
    answer: afterContent([{ sleepMs: 50 }, { reset: true }]),
    expected: "in-band",
    bill: "P",
  },
  {
    name: "ends without the terminal event",
    stream: true,
    answer: afterContent([]),
    expected: "in-band",
    bill: "P",
  },
  {
    name: "sends an error after content",
    stream: true,
    answer: afterContent([{ write: `event: error\n${errorFrame}` }]),
    expected: "in-band",
    bill: "P",
  },
  {
    name: "answers 200 with an error body",
    stream: false,
    answer: () => json({ error: { message: "it broke", type: "server_error" } }),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "sends an error as the first frame",
    stream: true,
    answer: () => sse(errorFrame),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "sends broken JSON",
    stream: false,
    answer: (dialect) => ({ ...whole(dialect), steps: [{ write: '{"choices":[' }] }),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "cuts its JSON short",
    stream: false,
    answer: (dialect) => ({
      ...whole(dialect),
      framing: "chunked",
      steps: [{ write: '{"id":"x"' }, { reset: true }],
    }),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "sends HTML",
    stream: false,
    answer: () => text("<html>Bad gateway</html>", "text/html"),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "redirects",
    stream: false,
    answer: () => redirect("http://127.0.0.1:9/"),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "compresses unasked",
    stream: false,
    answer: (dialect) => compressed(whole(dialect)),
    expected: upstreamError,
    bill: "R",
  },
  {
    name: "sends one event over 8 MiB",
    stream: true,
    answer: afterContent([{ write: `data: ${"x".repeat(9 * 1024 * 1024)}` }]),
    expected: "in-band",
    bill: "P",
  },
  ...[429, 503, 529].map(
    (status): Fault => ({
      name: `is busy with ${status} and Retry-After`,
      stream: false,
      answer: () => json({ error: { message: "busy" } }, { status, headers: { "retry-after": "7" } }),
      expected: { status: 503, code: "service_unavailable" },
      retryAfter: "7",
      bill: "R",
    }),
  ),
  ...[401, 402, 403, 404].map(
    (status): Fault => ({
      name: `refuses the gateway with ${status}`,
      stream: false,
      answer: () =>
        json({ error: { message: "account org-secretaccount is sk-upstream-canary" } }, { status }),
      expected: upstreamError,
      bill: "R",
    }),
  ),
  ...[400, 413, 422].map(
    (status): Fault => ({
      name: `finds the request wrong with ${status}`,
      stream: false,
      answer: () => json({ error: { message: "temperature is odd" } }, { status }),
      expected: { status: 400, code: "invalid_request" },
      bill: "R",
    }),
  ),
  {
    name: "finds the input too long",
    stream: false,
    answer: () =>
      json(
        { error: { message: "prompt is too long: 300 tokens > 200 maximum", type: "invalid_request_error" } },
        { status: 400 },
      ),
    expected: { status: 400, code: "context_length_exceeded" },
    bill: "R",
  },
  ...[500, 502].map(
    (status): Fault => ({
      name: `fails with ${status}`,
      stream: true,
      answer: () => json({ error: { message: "boom" } }, { status }),
      expected: upstreamError,
      bill: "R",
      attempts: 2,
    }),
  ),
  {
    name: "drips past the whole time allowed",
    stream: true,
    answer: (dialect) => drip(stream(dialect), 400),
    expected: "in-band",
    bill: "P",
  },
];
