import { GatewayError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { nothingReported, type Usage } from "../../base/usage/usage.ts";
import { FailedResponse } from "../../dialects/errors/failure.ts";
import {
  CompactionStream,
  compactedResponse,
  compactionItem,
  summaryOf,
  usageOf,
  writeCompaction,
} from "../../dialects/openai-responses/client/compaction.ts";
import { writeUsage } from "../../dialects/openai-responses/client/envelope-out.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import { endedResponse, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import type { StreamFindings } from "../../dialects/provider-response/stream-findings.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { ParsedEvent } from "../../dialects/sse/event.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { Compaction } from "../turns/compacting.ts";
import { storedDialect } from "../turns/storage-settings.ts";
import type { StreamRelayer } from "./pending-response.ts";
import type { ProviderResponse } from "./read-response.ts";

/** The conversation's summary in a response, encrypted as an item. Throws if there is none. */
function compactedBy(
  { context, seal }: Compaction,
  answer: Piece,
  streamed?: StreamedItems,
): { readonly item: TurnItem; readonly usage: Json } {
  const summarised = endedResponse(bytesOf(answer), streamed);
  const summary = summarised === null ? "" : summaryOf(summarised);
  if (summarised === null || summary === "") {
    throw new GatewayError("upstream_error", "The provider returned no summary.");
  }
  return { item: compactionItem(context.itemId, seal(summary)), usage: usageOf(summarised) };
}

/** The client's response, from a non-streaming response with a summary. */
export function compactedWhole(
  compaction: Compaction,
  whole: ProviderResponse,
  asStream: boolean,
): ProviderResponse {
  try {
    const { item, usage } = compactedBy(compaction, whole.body);
    const answer = (shown: Json): ProviderResponse => ({
      body: written(compaction, item, shown, asStream),
      usage: whole.usage,
      issued: [],
      extras: whole.extras,
      produced: () => whole.produced(),
      showing: (charged) => answer(writeUsage(charged)),
    });
    return answer(usage);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // The provider is paid for what it has reported.
    throw new FailedResponse(error, whole.usage, whole.extras ?? nothingReported);
  }
}

function written(
  { form, kept, context }: Compaction,
  item: TurnItem,
  usage: Json,
  asStream: boolean,
): string {
  if (form === "route") return writeCompaction(context, [...kept, item], usage);
  if (!asStream) return JSON.stringify(compactedResponse(context, item, usage));
  const stream = new CompactionStream(context);
  return stream.begin() + stream.end(item, usage);
}

/**
 * A stream that produces a summary. Until it ends, the client gets only the events that announce the compaction. The charge is
 * for the summary's own stream.
 */
export class CompactionRelayer implements StreamRelayer {
  readonly found: StreamFindings;
  readonly #summary: StreamRelayer;
  readonly #compaction: Compaction;
  readonly #stream: CompactionStream;
  readonly #requestId: string;
  #begun = false;
  #isRead = false;
  #made: ReturnType<typeof compactedBy> | null = null;
  #shown: Usage | null = null;

  constructor(compaction: Compaction, summary: StreamRelayer, requestId: string) {
    this.found = summary.found;
    this.#summary = summary;
    this.#compaction = compaction;
    this.#stream = new CompactionStream(compaction.context);
    this.#requestId = requestId;
  }

  push(chunk: Uint8Array): Piece {
    this.#summary.push(chunk);
    return this.#begin();
  }

  end(): Piece {
    this.#summary.end();
    return this.#begin();
  }

  resume(parsed: ParsedEvent): Piece {
    this.#summary.resume(parsed);
    return this.#begin();
  }

  #begin(): string {
    if (this.#summary.ended && !this.#isRead) this.#read();
    if (this.#begun || this.found.failure !== null) return "";
    this.#begun = true;
    return this.#stream.begin();
  }

  #read(): void {
    this.#isRead = true;
    try {
      this.#made = compactedBy(this.#compaction, this.#summary.terminal(), this.#summary.streamed);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.found.fail(new FailedResponse(error, this.found.usage, this.found.extras ?? nothingReported));
    }
  }

  terminal(): Piece {
    if (this.#made === null) return "";
    return this.#stream.end(
      this.#made.item,
      this.#shown === null ? this.#made.usage : writeUsage(this.#shown),
    );
  }

  failure(error: GatewayError, charged: Usage | null): string {
    const { context } = this.#compaction;
    const { source, id } = context;
    return clientDialect(storedDialect).inBandError(error, this.#requestId, {
      sequenceNumber: this.#stream.frames.takeNumber(),
      responseId: id,
      model: source.model,
      createdAtSeconds: source.nowSeconds,
      hasBegun: this.#begun,
      usage: charged,
    });
  }

  heartbeat(): string {
    const number = this.#begun ? this.#stream.frames.takeNumber() : 0;
    return clientDialect(storedDialect).heartbeat(this.#begun, number, this.#compaction.context.source.model);
  }

  get ended(): boolean {
    return this.#made !== null;
  }

  showUsage(usage: Usage): void {
    this.#shown = usage;
  }

  get isCollecting(): boolean {
    return this.#summary.isCollecting;
  }

  get isComplete(): boolean {
    return this.#summary.isComplete;
  }

  get largeEvent(): string | null {
    return this.#summary.largeEvent;
  }
}
