import { systemClock } from "../../base/clock.ts";
import { newId } from "../../base/id.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ClientDialect, Source, WallClock, WriterContext } from "../client-dialect.ts";
import { EventCollector } from "../ir/events.ts";
import type { IrResponse } from "../ir/ir.ts";
import { UsageFreshness } from "../ir/usage-freshness.ts";
import type { StreamReader, Target } from "../provider-dialect.ts";
import type { SseFrame } from "../sse/frame.ts";
import { legalCallId } from "../tools/call-id.ts";
import { ToolNames } from "../tools/names.ts";
import { adaptRequest, withoutProofs } from "./adapt-request.ts";
import { DroppedFields } from "./dropped-fields.ts";
import { markCache } from "./mark-cache.ts";
import { PairedStreams, type TranslationContext } from "./paired-streams.ts";
import { restoreResponse } from "./restore-answer.ts";
import type {
  ResponseCollector,
  SerializedToolMapping,
  StreamTranslator,
  TranslatedResponse,
  Translation,
} from "./translation.ts";

/** Translates a request from the client's dialect to the provider's; the result translates the answer back. */
export function translate(
  source: Source,
  target: Target,
  mint: Mint = newId,
  clock: WallClock = systemClock,
): Translation {
  if (source.dialect.name === target.dialect.name) return reread(source, target, { source, mint, clock });
  const client = source.dialect;
  const dropped = new DroppedFields(client.fieldNames);
  const read = client.readRequest(source.body, dropped);
  const request = target.refusesProofs === true ? withoutProofs(read, dropped) : read;
  const { request: adapted, names, formatTool } = adaptRequest(request, target, dropped);
  const body = target.dialect.writeRequest(markCache(adapted, source, target), target, dropped);
  if (target.fields !== undefined) Object.assign(body, target.fields);
  const toolMapping = { names, formatTool, callId: callIdFor(client, mint) };
  const context = { client, target, call: { source, mint, clock }, toolMapping };
  return new PairedDialects(body, dropped.fields, context);
}

/**
 * If both speak the same dialect, requests and answers pass through as bytes. Only an answer in the wrong form (JSON
 * instead of a stream, or a stream instead of JSON) is read and written again.
 */
function reread(source: Source, target: Target, call: WriterContext): Translation {
  const callId = (id: string) => (id === "" ? call.mint("call_") : id);
  const toolMapping = { names: null, formatTool: null, callId };
  const context = {
    client: source.dialect,
    target,
    call: { ...call, keepsProofs: true } as const,
    toolMapping,
  };
  return new PairedDialects(source.body, [], context);
}

/** For a request that was translated on another thread: only the answer is left to translate. */
export function translationOfAnswer(
  source: Source,
  target: Target,
  { tools, formatTool }: SerializedToolMapping,
  dropped: readonly string[],
): Translation {
  const callId = callIdFor(source.dialect, newId);
  const toolMapping = { names: ToolNames.of(tools), formatTool, callId };
  const call = { source, mint: newId, clock: systemClock };
  const context = { client: source.dialect, target, call, toolMapping };
  return new PairedDialects(source.body, dropped, context);
}

type Mint = WriterContext["mint"];

function callIdFor({ callIds }: ClientDialect, mint: Mint): (id: string) => string {
  return (id) => (id === "" ? mint("call_") : legalCallId(id, callIds));
}

class PairedDialects implements Translation {
  readonly body: JsonObject;
  readonly dropped: readonly string[];
  readonly #context: TranslationContext;

  constructor(body: JsonObject, dropped: readonly string[], context: TranslationContext) {
    this.body = body;
    this.dropped = dropped;
    this.#context = context;
  }

  response(body: JsonObject): TranslatedResponse {
    const { client, target, call, toolMapping } = this.#context;
    const response = target.dialect.readResponse(body, target);
    return writeWhole(client, call, restoreResponse(response, toolMapping));
  }

  serializeToolMapping(): SerializedToolMapping {
    const { names, formatTool } = this.#context.toolMapping;
    return { tools: names?.entries() ?? [], formatTool };
  }

  stream(): StreamTranslator {
    return new PairedStreams(this.#context);
  }

  collect(): ResponseCollector {
    return new PairedCollector(this.#context);
  }
}

function writeWhole(client: ClientDialect, call: WriterContext, response: IrResponse): TranslatedResponse {
  const body = client.writeResponse(response, call);
  return {
    body,
    usage: response.usage,
    produced: producedBy(response),
    showing: (usage) => writeWhole(client, call, { ...response, usage }),
  };
}

function producedBy(response: IrResponse): string {
  let produced = "";
  for (const block of response.blocks) {
    if (block.type === "reasoning") produced += block.parts.join("");
    else produced += block.type === "tool_call" ? block.name + block.input : block.text;
  }
  return produced;
}

class PairedCollector implements ResponseCollector {
  readonly #context: TranslationContext;
  readonly #collector = new EventCollector();
  readonly #usageFreshness = new UsageFreshness();
  readonly #reader: StreamReader;

  constructor(context: TranslationContext) {
    this.#context = context;
    const { target } = context;
    this.#reader = target.dialect.createStreamReader((event) => {
      this.#usageFreshness.observe(event);
      this.#collector.push(event);
    }, target);
  }

  push(frame: SseFrame): void {
    this.#usageFreshness.nextFrame();
    this.#reader.push(frame);
  }

  get ended(): boolean {
    return this.#reader.ended;
  }

  end(): TranslatedResponse {
    this.#reader.end();
    const { client, call, toolMapping } = this.#context;
    const whole = writeWhole(client, call, restoreResponse(this.#collector.response(), toolMapping));
    return { ...whole, usage: this.#usageFreshness.apply(whole.usage) };
  }
}
