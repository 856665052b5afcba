import { setTimeout } from "node:timers/promises";
import { isObject, tryParse } from "../../base/json.ts";
import { nextLoopIteration } from "../../base/loop/pacer.ts";
import { FetchTransfer } from "../../wire/fetch-transfer.ts";
import type { Receiver, Transfer } from "../../wire/transfer.ts";
import { readDefaultError } from "../http/default-error.ts";
import type { PreparedRequest, Provider, ProviderSettings } from "../provider.ts";
import type { Vendor } from "../vendor.ts";
import { answerTo } from "./answer.ts";
import { meteredResponse } from "./metered.ts";
import { type DemoError, errorBodyOf, rejectionOf } from "./rejection.ts";
import { readDemoRequest } from "./request.ts";
import { readScenario, type Scenario } from "./scenario.ts";
import { type PacedFrame, ResponseWriter } from "./write-answer.ts";

/**
 * A vendor inside the process, for trying out Sluice without any key. It speaks only chat, so that clients of the other
 * dialects try out the translation, too.
 */
export const demo: Vendor = {
  defaults: {
    dialects: ["chat"],
    maxTokensField: "max_tokens",
    countTokens: false,
    quirks: ["thinking_switch"],
  },
  keys: "none",
  strictDialects: [],
  fieldsOf: [],
  capabilities: { reasoning: true, effort_none: true, structured_output: true },
  baseUrl: { default: "", example: "", pathWarning: () => null },
  meteredFormats: () => ["openai"],
  create: (settings) => new DemoProvider(settings),
};

/** The demo parses on the event loop, so a larger body would delay all other requests. */
const maxBytes = 1024 * 1024;

/**
 * A provider in the same process, for trying out Sluice without any key: it speaks chat, streams, thinks, calls tools
 * and reports usage, and it fails in the way that the request's text asks for.
 */
export class DemoProvider implements Provider {
  readonly settings: ProviderSettings;
  readonly credentials = [];

  constructor(settings: ProviderSettings) {
    this.settings = settings;
  }

  send(prepared: PreparedRequest, _credential: null, receiver: Receiver): Transfer {
    return new FetchTransfer((signal) => this.respond(prepared, signal), receiver);
  }

  readonly readProviderError = readDefaultError;

  /** Like `fetch`: an abort rejects any pending wait. */
  async respond({ dialect, method, body: sent }: PreparedRequest, signal: AbortSignal): Promise<Response> {
    // Like a real provider's, the response comes in a later event-loop iteration, when disconnects have been noticed.
    await nextLoopIteration();
    if (dialect !== "chat")
      return errorResponse(404, { message: `The demo supports only chat completions, not ${dialect}.` });
    if (sent.length > maxBytes)
      return errorResponse(413, { message: "The demo accepts bodies of up to 1 MB." });
    const body = tryParse(typeof sent === "string" ? sent : Buffer.from(sent).toString());
    if (!isObject(body)) return errorResponse(400, { message: "The body is not a JSON object." });
    if (method !== undefined) {
      const answer = meteredResponse(method, body);
      return answer === null
        ? errorResponse(400, { message: `The demo has no ${method}.` })
        : Response.json(answer);
    }
    const rejection = rejectionOf(body);
    if (rejection !== null) return errorResponse(400, rejection);
    const request = readDemoRequest(body);
    const scenario = readScenario(request.text);
    if (scenario.sleepMs > 0 || signal.aborted) await abortable(scenario.sleepMs, signal);
    if (scenario.failStatus !== null) return failure(scenario.failStatus, scenario);
    const answer = answerTo(request, scenario);
    const writer = new ResponseWriter(body, answer, request.choices);
    if (!request.stream) return whole(writer, scenario, signal);
    return streamed(writer, scenario, answer.thinking.length + answer.pieces.length, signal);
  }
}

function errorResponse(status: number, rejection: DemoError): Response {
  return Response.json(errorBodyOf(status, rejection), { status });
}

function failure(status: number, { retryAfterSeconds }: Scenario): Response {
  const body = errorBodyOf(status, { message: `The demo fails with status ${status}, as you asked.` });
  const headers = retryAfterSeconds === null ? {} : { "retry-after": String(retryAfterSeconds) };
  return Response.json(body, { status, headers });
}

async function whole(writer: ResponseWriter, scenario: Scenario, signal: AbortSignal): Promise<Response> {
  if (scenario.pauseMs > 0) await abortable(scenario.pauseMs, signal);
  if (scenario.interruption === "stall") await abortable(Number.POSITIVE_INFINITY, signal);
  const body = JSON.stringify(writer.whole());
  const sent = scenario.interruption === null ? body : body.slice(0, body.length / 2);
  return new Response(sent, { headers: { "content-type": "application/json" } });
}

function streamed(
  writer: ResponseWriter,
  { pieceMs, pauseMs, interruption }: Scenario,
  contentFrames: number,
  signal: AbortSignal,
): Response {
  const errorFrame = writer.errorFrame("The demo breaks here, as you asked.");
  const pace = { pieceMs, pauseMs, interruption, contentFrames, errorFrame };
  return new Response(pacedBody(writer.frames(), pace, signal), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });
}

interface Pace extends Pick<Scenario, "pieceMs" | "pauseMs" | "interruption"> {
  /** Number of frames with content. */
  readonly contentFrames: number;
  readonly errorFrame: string;
}

/** The longest that a timer takes: nothing but an abort ends it. */
const foreverMs = 2 ** 31 - 1;

/** Like `fetch`: an abort rejects whatever is being waited for. */
function abortable(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(Math.min(ms, foreverMs), undefined, { signal, ref: ms < foreverMs });
}

/**
 * A body that sends frames at a pace. The next frame is made only when it is pulled, so a stalled reader stops the demo as
 * it would stop a provider.
 */
function pacedBody(
  frames: Generator<PacedFrame>,
  pace: Pace,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const middle = Math.floor(pace.contentFrames / 2);
  let contentSent = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value: next, done } = frames.next();
        if (done) return controller.close();
        if (next.content && contentSent++ === middle) {
          if (pace.pauseMs > 0) await abortable(pace.pauseMs, signal);
          if (pace.interruption === "stall") await abortable(Number.POSITIVE_INFINITY, signal);
          if (pace.interruption === "break") controller.enqueue(encoder.encode(pace.errorFrame));
          if (pace.interruption !== null) return controller.close();
        }
        if (signal.aborted || (next.content && pace.pieceMs > 0)) await abortable(pace.pieceMs, signal);
        controller.enqueue(encoder.encode(next.frame));
      },
    },
    { highWaterMark: 0 },
  );
}
