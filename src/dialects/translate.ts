import type { GatewayError } from "../base/errors.ts";
import { newId } from "../base/id.ts";
import type { JsonObject } from "../base/json.ts";
import type { Usage } from "../base/usage.ts";
import type {
  ResponseCollector,
  Source,
  SseFrame,
  StreamTranslator,
  Target,
  TranslatedResponse,
  Translation,
} from "./codec.ts";
import type { ClientCall, ClientSide, ProviderSide, StreamReader, StreamWriter } from "./dialect.ts";
import { EventCollector, eventsOf } from "./events.ts";
import { fit } from "./fit.ts";
import type { IrEvent, IrResponse } from "./ir.ts";
import { Notes } from "./notes.ts";
import { dialectOf } from "./registry.ts";
import { type Restoration, restoreResponse, StreamRestorer } from "./restore.ts";

/** Two dialects put together: the client's read and written as a server, the provider's as a client. */
export function translate(source: Source, target: Target, mint = newId): Translation {
  if (source.dialect === target.dialect) return reread(source, mint);
  const client = dialectOf(source.dialect).client;
  const provider = dialectOf(target.dialect).provider;
  const notes = new Notes(source.dialect);
  const request = client.readRequest(source.body, notes);
  const { request: fitted, ...restored } = fit(request, target, notes);
  const body = provider.writeRequest(fitted, target, notes);
  const ways = { client, provider, call: { source, mint }, restoration: { ...restored, mint } };
  return { body, dropped: notes.dropped, ...answersOf(ways) };
}

/**
 * Where both speak the same dialect the bytes pass through, and nothing of the request is translated. Only
 * an answer in the other form than was asked for (a body for a stream, a stream for a body) is read and
 * written again.
 */
function reread(source: Source, mint: Mint): Translation {
  const { client, provider } = dialectOf(source.dialect);
  const restoration = { names: null, formatTool: null, mint };
  const ways = { client, provider, call: { source, mint }, restoration };
  return { body: source.body, dropped: [], ...answersOf(ways) };
}

type Mint = ClientCall["mint"];

/** Everything that an answer needs on its way from the provider to the client. */
interface Ways {
  readonly client: ClientSide;
  readonly provider: ProviderSide;
  readonly call: ClientCall;
  readonly restoration: Restoration;
}

function answersOf(ways: Ways): Pick<Translation, "response" | "stream" | "collect"> {
  const { client, provider, call, restoration } = ways;
  return {
    response: (body) => writeWhole(client, call, restoreResponse(provider.readResponse(body), restoration)),
    stream: () => new PairedStreams(ways),
    collect: () => new PairedCollector(ways),
  };
}

function writeWhole(client: ClientSide, call: ClientCall, response: IrResponse): TranslatedResponse {
  return {
    body: client.writeResponse(response, call),
    usage: response.usage,
    produced: producedBy(response),
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

class PairedStreams implements StreamTranslator {
  readonly #provider: ProviderSide;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #restorer: StreamRestorer;
  #written = "";
  #produced = "";
  #wholeRead = false;
  usage: Usage | null = null;
  started = false;

  constructor({ client, provider, call, restoration }: Ways) {
    this.#provider = provider;
    this.#writer = client.createStreamWriter(call);
    this.#restorer = new StreamRestorer(restoration, (event) => this.#write(event));
    this.#reader = provider.createStreamReader((event) => this.#restorer.push(event));
  }

  push(frame: SseFrame): string {
    this.#reader.push(frame);
    return this.#take();
  }

  pushWhole(body: JsonObject): string {
    for (const event of eventsOf(this.#provider.readResponse(body))) this.#restorer.push(event);
    this.#wholeRead = true;
    return this.#take();
  }

  end(): string {
    if (!this.#wholeRead) this.#reader.end();
    return this.#take();
  }

  get ended(): boolean {
    return this.#wholeRead || this.#reader.ended;
  }

  terminal(): string {
    return this.#writer.terminal();
  }

  failure(error: GatewayError, requestId: string): string {
    return this.#writer.failure(error, requestId);
  }

  heartbeat(): string {
    return this.#writer.heartbeat();
  }

  takeProduced(): string {
    const produced = this.#produced;
    this.#produced = "";
    return produced;
  }

  #write(event: IrEvent): void {
    switch (event.type) {
      case "start":
      case "usage":
        this.usage = event.usage ?? this.usage;
        break;
      case "block_start":
        if (event.block.type === "tool_call") this.#produce(event.block.name);
        break;
      case "delta":
        this.#produce(event.text);
        break;
    }
    this.#written += this.#writer.write(event);
  }

  #produce(text: string): void {
    this.#produced += text;
    this.started = true;
  }

  #take(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}

class PairedCollector implements ResponseCollector {
  readonly #ways: Ways;
  readonly #collector = new EventCollector();
  readonly #reader: StreamReader;

  constructor(ways: Ways) {
    this.#ways = ways;
    this.#reader = ways.provider.createStreamReader((event) => this.#collector.push(event));
  }

  push(frame: SseFrame): void {
    this.#reader.push(frame);
  }

  end(): TranslatedResponse {
    this.#reader.end();
    const { client, call, restoration } = this.#ways;
    return writeWhole(client, call, restoreResponse(this.#collector.response(), restoration));
  }
}
