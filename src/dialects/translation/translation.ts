import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { nothingReported, type ReportedUsage, type Usage } from "../../base/usage/usage.ts";
import type { WriterContext } from "../contract/client-dialect.ts";
import { FailedResponse, failedAfter, isBilled } from "../errors/failure.ts";
import { EventCollector } from "../ir/events.ts";
import type { IrResponse } from "../ir/ir.ts";
import { producedBy } from "../provider-response/produced.ts";
import { StreamFindings } from "../provider-response/stream-findings.ts";
import type { ReadEvent, StreamReader } from "../provider-response/stream-reader.ts";
import type { SseFrame } from "../sse/sse.ts";
import type { ClientTool } from "../tools/names.ts";
import { EventRestorer, StreamTranslator, type TranslationContext } from "./stream-translator.ts";

/** A request translated from one dialect to another. Made once per attempt, because the target may differ. */
export class Translation {
  /** The body for the provider. */
  readonly body: JsonObject;
  /** Fields that were dropped because the request works without them; reported in `x-sluice-dropped`. */
  readonly dropped: readonly string[];
  readonly #context: TranslationContext;

  constructor(body: JsonObject, dropped: readonly string[], context: TranslationContext) {
    this.body = body;
    this.dropped = dropped;
    this.#context = context;
  }

  /** Translates a whole response to the client's dialect. Throws `upstream_error` if it is malformed. */
  response(body: JsonObject): TranslatedResponse {
    const { target, call, toolMapping } = this.#context;
    const events = target.dialect.readResponse(body, target);
    const collector = new EventCollector();
    const restorer = new EventRestorer(toolMapping, (event) => collector.push(event));
    for (const event of events) restorer.push(event);
    return writeWhole(call, collector.response(), producedBy(events));
  }

  stream(): StreamTranslator {
    return new StreamTranslator(this.#context);
  }

  /** The facts about the request that translating its response needs, as data that can be sent to another thread. */
  serializeToolMapping(): SerializedToolMapping {
    const { names, formatTool } = this.#context.toolMapping;
    return { tools: names?.entries() ?? [], formatTool };
  }

  /** For a provider that streams although the request did not: collects its frames into one response. */
  collect(): ResponseCollector {
    return new ResponseCollector(this.#context);
  }
}

/** Tools by the names that the provider got, and the tool that only forces a format. */
export interface SerializedToolMapping {
  readonly tools: readonly (readonly [string, ClientTool])[];
  readonly formatTool: string | null;
}

export interface TranslatedResponse {
  readonly body: JsonObject;
  /** Null if the provider reported no usage; it is then counted locally. */
  readonly usage: ReportedUsage | null;
  /** All text, reasoning and tool arguments, for counting them locally. */
  readonly produced: string;
  /** A copy of the response that shows the client another usage. */
  showing(usage: Usage): TranslatedResponse;
}

function writeWhole(call: WriterContext, response: IrResponse, produced: string): TranslatedResponse {
  const body = call.source.dialect.writeResponse(response, call);
  return {
    body,
    usage: response.usage,
    produced,
    showing: (usage) => writeWhole(call, { ...response, usage }, produced),
  };
}

class ResponseCollector {
  readonly found = new StreamFindings();
  readonly #context: TranslationContext;
  readonly #collector = new EventCollector();
  readonly #restorer: EventRestorer;
  readonly #reader: StreamReader;

  constructor(context: TranslationContext) {
    this.#context = context;
    const { target, toolMapping } = context;
    this.#restorer = new EventRestorer(toolMapping, (event) => this.#collector.push(event));
    this.#reader = target.dialect.createStreamReader({ target });
  }

  push(frame: SseFrame): void {
    this.#collect(this.#reader.read(frame));
  }

  /** True once the provider's stream has ended properly. Later events are ignored. */
  get ended(): boolean {
    return this.found.ended;
  }

  /** Call at the proper end of the stream or of the provider's body. Throws a GatewayError if the response is incomplete. */
  end(): TranslatedResponse {
    this.#collect(this.#reader.end());
    const whole = writeWhole(this.#context.call, this.#collector.response(), this.found.takeProduced());
    return { ...whole, usage: this.found.usage };
  }

  #collect(events: readonly ReadEvent[]): void {
    try {
      this.found.addTranslated(events, (event) => this.#restorer.push(event));
    } catch (error) {
      throw this.#billed(error);
    }
  }

  /** Output that was reported is paid for, although the client sees none of it. */
  #billed(error: unknown): unknown {
    const { partialUsage, reportedOutput } = this.found;
    const failure = failedAfter({ partialUsage, reportedOutput, started: false }, error);
    if (!(failure instanceof GatewayError) || isBilled(failure) || reportedOutput === 0) return failure;
    return new FailedResponse(failure, partialUsage, nothingReported);
  }
}
