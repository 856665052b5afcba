import { assert } from "../../base/assert.ts";
import { isObject, tryParse } from "../../base/json.ts";
import { nextTurn } from "../../base/loop/next-iteration.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";
import { clientDialect, clientDialectNames } from "../../dialects/registry.ts";
import { FetchTransfer } from "../../wire/fetch-transfer.ts";
import type { Receiver, Transfer } from "../../wire/transfer.ts";
import { readDefaultRefusal } from "../http/default-refusal.ts";
import type { Prepared, Provider, ProviderSettings } from "../provider.ts";
import { answerTo } from "./answer.ts";
import { largeBodyBytes, shortened } from "./large-body.ts";
import { meteredAnswer } from "./metered.ts";
import { abortable, pacedBody } from "./pace.ts";
import { type DemoError, errorBodyOf, refusalOf } from "./refusal.ts";
import { readDemoRequest } from "./request.ts";
import { readScenario, type Scenario } from "./scenario.ts";
import { AnswerWriter } from "./write-answer.ts";

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
  async respond(
    { dialect: name, purpose, method, body: sent }: Prepared,
    signal: AbortSignal,
  ): Promise<Response> {
    const spoken = clientDialectNames.find((client) => client === name);
    assert(spoken !== undefined, `the demo does not speak ${name}`);
    const dialect = clientDialect(spoken);
    // Like a provider's, its answer comes in a later turn of the event loop: clients that left are known by then.
    await nextTurn();
    const body = tryParse(await textOf(sent));
    if (!isObject(body)) return refused(dialect.errorFormat, { message: "The body is not a JSON object." });
    if (method !== undefined) {
      const answer = meteredAnswer(method, body);
      const message = `The demo has no ${method}.`;
      return answer === null ? refused(dialect.errorFormat, { message }) : Response.json(answer);
    }
    const refusal = refusalOf(body);
    if (refusal !== null) return refused(dialect.errorFormat, refusal);
    const request = readDemoRequest(body);
    if (purpose === "countTokens") return Response.json({ input_tokens: request.inputTokens });
    const scenario = readScenario(request.text);
    if (scenario.sleepMs > 0 || signal.aborted) await abortable(scenario.sleepMs, signal);
    if (scenario.failStatus !== null) return failure(scenario.failStatus, scenario, dialect.errorFormat);
    const answer = answerTo(request, scenario);
    const writer = new AnswerWriter(dialect, body, answer, request.choices);
    if (!request.stream) return whole(writer, scenario, signal);
    const contentFrames = answer.blocks.reduce((sum, { pieces }) => sum + pieces.length, 0);
    return streamed(writer, scenario, contentFrames, signal);
  }
}

function textOf(sent: Uint8Array | string): string | Promise<string> {
  const isLarge = sent.length >= largeBodyBytes;
  if (!isLarge) return typeof sent === "string" ? sent : Buffer.from(sent).toString();
  return shortened(typeof sent === "string" ? Buffer.from(sent) : sent);
}

function refused(format: ErrorFormat, refusal: DemoError): Response {
  return Response.json(errorBodyOf(format, 400, refusal), { status: 400 });
}

function failure(status: number, { retryAfterSeconds }: Scenario, format: ErrorFormat): Response {
  const body = errorBodyOf(format, status, {
    message: `The demo fails with status ${status}, as you asked.`,
  });
  const headers = retryAfterSeconds === null ? {} : { "retry-after": String(retryAfterSeconds) };
  return Response.json(body, { status, headers });
}

async function whole(writer: AnswerWriter, scenario: Scenario, signal: AbortSignal): Promise<Response> {
  if (scenario.pauseMs > 0) await abortable(scenario.pauseMs, signal);
  if (scenario.interruption === "stall") await abortable(Number.POSITIVE_INFINITY, signal);
  const body = JSON.stringify(writer.whole());
  const sent = scenario.interruption === null ? body : body.slice(0, body.length / 2);
  return new Response(sent, { headers: { "content-type": "application/json" } });
}

function streamed(
  writer: AnswerWriter,
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
