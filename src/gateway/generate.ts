import { assert } from "../base/assert.ts";
import { GatewayError } from "../base/errors.ts";
import { LoopBatch } from "../base/loop/batch.ts";
import type { KeyCounts } from "../catalog/tokens/counter.ts";
import type { ModelSettings } from "../config/settings.ts";
import type { OutputLimit } from "../dialects/output-limit.ts";
import { type ClientDialectName, clientDialect } from "../dialects/registry.ts";
import type { RequestKind } from "../dialects/schema/validate.ts";
import type { OpenedCall } from "../upstream/upstream.ts";
import { chargeFailure } from "./answer/charge-failure.ts";
import { EarlyStream } from "./answer/early-stream.ts";
import { streamResponse } from "./answer/stream-response.ts";
import {
  readOrChargeFailure,
  rejectUnreadable,
  settleWhole,
  wholeResponse,
} from "./answer/whole-response.ts";
import { Generation, type PricedGeneration } from "./attempt/generation.ts";
import { largeBodyBytes } from "./body-worker/is-large.ts";
import { largeBodyPacer } from "./body-worker/large-body-pacer.ts";
import type { CostMeter } from "./charge/cost-meter.ts";
import { requestExtras } from "./charge/requested-extras.ts";
import { noUnpricedTools } from "./charge/requested-tools.ts";
import { compactionLimit } from "./conversations/compaction.ts";
import { lockConversation } from "./conversations/conversation-lock.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { type ChargedSteps, serve } from "./lifecycle.ts";
import { rejectIncapable } from "./request/incapable.ts";
import { readRequest, withoutValues } from "./request/read-request.ts";
import { type ClientRequest, findModel, rejectUnpriced } from "./request/request.ts";
import type { AdmittedCall, ReadRequest, RoutedCall } from "./stages.ts";

/** Requests that arrive in one event-loop iteration start together. */
const arrivals = new LoopBatch<() => void>((resume) => resume());

/** Serves a generation request. */
export function generate(gateway: Gateway, exchange: Exchange, steps: GenerationSteps): Promise<Response> {
  const turn = arrivals.shouldAdd() ? new Promise<void>((resume) => arrivals.add(resume)) : null;
  return serve(gateway, exchange, steps, turn);
}

/** The steps of a generation in one of the dialects. */
export class GenerationSteps implements ChargedSteps<OutputLimit, PricedGeneration, Generation> {
  readonly dialect: ClientDialectName;
  readonly #kind: RequestKind;

  constructor(dialect: ClientDialectName, kind: RequestKind = dialect) {
    this.dialect = dialect;
    this.#kind = kind;
  }

  read(call: AdmittedCall): ReadRequest | Promise<ReadRequest> {
    return readRequest(call, this.#kind);
  }

  streams({ stream }: ClientRequest): boolean {
    return stream;
  }

  findModel({ configured, key }: AdmittedCall, { modelId }: ClientRequest): ModelSettings {
    return findModel(configured, key, modelId);
  }

  /** Returns the most output that is held for. */
  check(
    { configured, key }: AdmittedCall,
    { request, turn }: ReadRequest,
    model: ModelSettings,
  ): OutputLimit {
    rejectUnpriced(key, model);
    rejectIncapable(request.truncated, model);
    return turn.isCompactedUpstream
      ? compactionLimit(configured, model)
      : clientDialect(this.dialect).limitOutput(request.truncated, model);
  }

  price(call: RoutedCall, limit: OutputLimit): PricedGeneration | Promise<PricedGeneration> {
    const { gateway, request, model, keyId } = call;
    const extras = requestExtras(request, call);
    const estimatedInput = request.estimateInput();
    const priced = { limit, estimatedInput, extras };
    const counting = rejectOverlongInput(
      model,
      estimatedInput.tokens,
      request.bytes,
      gateway.tokens.of(keyId),
    );
    return counting === undefined ? priced : counting.then(() => priced);
  }

  plan(call: RoutedCall, priced: PricedGeneration): Generation | Promise<Generation> {
    const sent = requestToSend(call, priced);
    if (!(sent instanceof Promise)) return new Generation(call, sent, priced);
    return sent.then((request) => new Generation(call, request, priced));
  }

  ask(generation: Generation, meter: CostMeter): Promise<Response> {
    const { exchange } = generation.call;
    const { heartbeatMs } = exchange.configured.settings.server;
    const begins = generation.stream && heartbeatMs > 0 && exchange.mayBeginEarly;
    return begins ? askForStream(generation, meter, heartbeatMs) : ask(generation, meter);
  }
}

/** The request as a provider gets it, once the conversation that it changes is locked. Most requests change none. */
function requestToSend(call: RoutedCall, priced: PricedGeneration): ClientRequest | Promise<ClientRequest> {
  const { keeping } = call.turn;
  const locked = keeping?.isStored === true ? keeping.conversation : undefined;
  if (locked === undefined) return withoutUnpricedTools(call, priced);
  return lockConversation(call, locked).then(() => withoutUnpricedTools(call, priced));
}

function withoutUnpricedTools(
  call: RoutedCall,
  { extras }: PricedGeneration,
): ClientRequest | Promise<ClientRequest> {
  const { exchange, request } = call;
  const { paths, names } = extras?.unpricedTools ?? noUnpricedTools;
  exchange.unpricedTools = names;
  return paths.length === 0 ? request : withoutValues(call, paths);
}

/** … and answers earlier if no provider begins to. Watched until the stream's pump is: the watchdog's timer is not stopped between. */
async function askForStream(
  generation: Generation,
  meter: CostMeter,
  heartbeatMs: number,
): Promise<Response> {
  const { watchdog, clock } = generation.call.gateway;
  const early = new EarlyStream(generation, heartbeatMs, clock.monotonicMs());
  watchdog.watch(early);
  try {
    return await ask(generation, meter);
  } finally {
    watchdog.forget(early);
  }
}

/** Asks a provider, and answers the client with what it returns. */
async function ask(generation: Generation, meter: CostMeter): Promise<Response> {
  const { call } = generation;
  const { exchange } = call;
  if (exchange.endedBy !== null) throw exchange.endedBy;
  meter.noteExtras(null);
  let opened: OpenedCall;
  try {
    opened = await exchange.configured.upstream.open(generation);
  } catch (error) {
    return await chargeFailure({ generation, meter }, error);
  }
  exchange.answeredBy(opened);
  const { attempt } = generation;
  assert(attempt !== null, "a provider has answered without an attempt");
  exchange.dropped = attempt.dropped;
  meter.noteExtras(null);

  const answering = { call, generation, attempt, opened, meter };
  if (generation.stream && opened.streaming) return streamResponse(answering);
  const reading = readOrChargeFailure(answering);
  const whole = reading instanceof Promise ? await reading : reading;
  rejectUnreadable(answering);
  // The charge is durable before the body leaves.
  await settleWhole(answering, whole);
  if (whole.body.length >= largeBodyBytes) await largeBodyPacer.turn();
  return wholeResponse(answering, whole);
}

/** Tokenizers differ by this much; what is closer to the window is left to the provider. */
const clearlyOver = 1.1;

/** Rejects input that cannot fit. The cheap estimate is an upper bound: only if it does not fit, the input is counted. */
export function rejectOverlongInput(
  { contextWindow }: ModelSettings,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: Pick<KeyCounts, "request">,
): Promise<void> | undefined {
  const isShort = contextWindow === null || estimatedInput <= contextWindow;
  return isShort ? undefined : rejectCounted(contextWindow, estimatedInput, bytes, tokens);
}

async function rejectCounted(
  contextWindow: number,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: Pick<KeyCounts, "request">,
): Promise<void> {
  // If the tokenizer's thread is too busy to count, its estimate may exceed the upper bound.
  const counted = Math.min(await tokens.request(bytes), estimatedInput);
  if (counted <= contextWindow * clearlyOver) return;
  throw new GatewayError(
    "context_length_exceeded",
    `prompt is too long: ${counted} tokens > ${contextWindow} maximum`,
  );
}
