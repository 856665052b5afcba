import { assert } from "../../base/assert.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { nextTurn } from "../../base/next-turn.ts";
import { FetchTransfer } from "../../wire/fetch-transfer.ts";
import type { Receiver, Transfer } from "../../wire/transfer.ts";
import { readDefaultRefusal } from "../http/default-refusal.ts";
import type { Prepared, Provider } from "../provider.ts";
import type { ProviderSettings } from "../settings.ts";
import { answerTo, type DemoAnswer } from "./answer.ts";
import { chat } from "./chat.ts";
import type { DemoDialect } from "./dialect.ts";
import { largeBodyBytes, shortened } from "./large-body.ts";
import { messages } from "./messages.ts";
import { abortable, pacedBody } from "./pace.ts";
import { piecesOf } from "./pieces.ts";
import { responses } from "./responses.ts";
import { readScenario, type Scenario } from "./scenario.ts";

const dialects: Readonly<Record<string, DemoDialect>> = { chat, responses, messages };

/** A dialect that the demo does not speak is translated for it, as for any provider. */
export function demoSpeaks(dialect: string): boolean {
  return dialect in dialects;
}

/**
 * A provider in the same process, for trying Sluice out without any key: it speaks all three dialects,
 * streams, thinks, calls tools and reports usage, and it fails in whatever way the request's text asks for.
 */
export class DemoProvider implements Provider {
  readonly settings: ProviderSettings;
  readonly credentials = [];

  constructor(settings: ProviderSettings) {
    this.settings = settings;
  }

  send(prepared: Prepared, _credential: null, receiver: Receiver): Transfer {
    return new FetchTransfer((signal) => this.respond(prepared, signal), receiver);
  }

  readonly readRefusal = readDefaultRefusal;

  /** Like `fetch`: an abort rejects whatever is being waited for. */
  async respond({ dialect: name, purpose, body: sent }: Prepared, signal: AbortSignal): Promise<Response> {
    const dialect = dialects[name];
    assert(dialect !== undefined, `the demo does not speak ${name}`);
    // Like a provider's, its answer comes in another turn of the event loop: by then it is known who has left.
    await nextTurn();
    const body = parse(await textOf(sent));
    if (body === null)
      return Response.json(dialect.error(400, "The body is not a JSON object."), { status: 400 });
    const request = dialect.read(body);
    if (purpose === "count_tokens") return Response.json({ input_tokens: request.inputTokens });
    const { refusal } = request;
    if (refusal !== null) return Response.json(dialect.error(400, refusal.message, refusal), { status: 400 });
    const scenario = readScenario(request.text);
    if (scenario.sleepMs > 0 || signal.aborted) await abortable(scenario.sleepMs, signal);
    if (scenario.failStatus !== null) return failure(scenario.failStatus, scenario, dialect);
    const answer = answerTo(request, scenario);
    return request.stream
      ? streamed(answer, scenario, dialect, signal)
      : whole(answer, scenario, dialect, signal);
  }
}

function textOf(sent: Uint8Array | string): string | Promise<string> {
  const isLarge = sent.length >= largeBodyBytes;
  if (!isLarge) return typeof sent === "string" ? sent : Buffer.from(sent).toString();
  return shortened(typeof sent === "string" ? Buffer.from(sent) : sent);
}

function parse(text: string): JsonObject | null {
  try {
    const body: Json = JSON.parse(text);
    return isObject(body) ? body : null;
  } catch {
    return null;
  }
}

function failure(status: number, scenario: Scenario, dialect: DemoDialect): Response {
  const body = dialect.error(status, `The demo fails with status ${status}, as you asked.`);
  const { retryAfterSeconds } = scenario;
  const headers = retryAfterSeconds === null ? {} : { "retry-after": String(retryAfterSeconds) };
  return Response.json(body, { status, headers });
}

async function whole(
  answer: DemoAnswer,
  scenario: Scenario,
  dialect: DemoDialect,
  signal: AbortSignal,
): Promise<Response> {
  if (scenario.pauseMs > 0) await abortable(scenario.pauseMs, signal);
  if (scenario.interruption === "stall") await abortable(Number.POSITIVE_INFINITY, signal);
  const body = JSON.stringify(dialect.whole(answer));
  const sent = scenario.interruption === null ? body : body.slice(0, body.length / 2);
  return new Response(sent, { headers: { "content-type": "application/json" } });
}

function streamed(
  answer: DemoAnswer,
  scenario: Scenario,
  dialect: DemoDialect,
  signal: AbortSignal,
): Response {
  const callFrames = answer.call === null ? 0 : piecesOf(answer.call.arguments).length;
  const pace = {
    pieceMs: scenario.pieceMs,
    pauseMs: scenario.pauseMs,
    interruption: scenario.interruption,
    contentFrames: (answer.thinking.length + answer.text.length + callFrames) * answer.request.choices,
    errorFrame: dialect.errorFrame("The demo breaks here, as you asked."),
  };
  return new Response(pacedBody(dialect.stream(answer), pace, signal), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });
}
