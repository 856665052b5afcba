import { assert } from "../base/assert.ts";
import type { ModelSettings } from "../config/settings.ts";
import { type ClientDialectName, clientDialect } from "../dialects/registry.ts";
import { itemsFieldOf, type RequestKind } from "../dialects/request-kinds.ts";
import type { OpenedCall } from "../upstream/upstream.ts";
import { admit } from "./admission/admit.ts";
import { Generation, type GenerationTerms } from "./attempt/generation.ts";
import { HeldGeneration } from "./attempt/held-generation.ts";
import { GenerationCall } from "./attempt/provider-call.ts";
import { errorOfStepDown, stepDown } from "./attempt/step-down.ts";
import { beginInBackground, replayed } from "./background/begin.ts";
import { mayBePaced, paceRequest } from "./body-worker/request-pacer.ts";
import { holdFor, priceNow, resumeHold, settledOrReleased } from "./charge/hold.ts";
import { rejectSpent } from "./charge/reject-spent.ts";
import { requestExtras } from "./charge/requested-extras.ts";
import { noUnpricedTools } from "./charge/requested-tools.ts";
import { reserveTokens } from "./charge/reserve-tokens.ts";
import { compactionLimit } from "./conversations/compaction.ts";
import { readWithConversation } from "./conversations/continue.ts";
import type { AdmittedCall } from "./exchange/admitted-call.ts";
import { claimIdempotency, idempotencyKeyOf, lockConversation } from "./exchange/claims.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { Gateway } from "./exchange/gateway.ts";
import {
  findModel,
  permitted,
  rejectIncapable,
  rejectOverlongInput,
  rejectUnpriced,
} from "./request/model.ts";
import { readRequest, withoutValues } from "./request/read-request.ts";
import { noTurn, noteRequest, type ReadRequest, type RoutedCall, route } from "./request/route.ts";
import { chargeFailure, respondWhole } from "./response/client-response.ts";
import { watchSilence } from "./response/early-stream.ts";
import { streamResponse } from "./response/stream-response.ts";

/**
 * Serves a generation request. What happens to it, in order: every step may reject it by throwing a GatewayError, and then no later
 * step has had an effect. What it takes on the way (a claim, a slot, tokens, a hold, the provider's response) is noted in the exchange,
 * and what is left of it is released in one place when that ends (end-exchange.ts). `kind` is the form of its body, if not the dialect's usual one.
 */
export async function generate(
  gateway: Gateway,
  exchange: Exchange,
  dialect: ClientDialectName,
  kind: RequestKind = dialect,
): Promise<Response> {
  exchange.joinTrace();

  // Who asks, and for what?
  const call = await admit(gateway, exchange);
  if (mayBePaced(exchange.call)) await rejectSpent(call, "generation");
  const read = await readGeneration(call, kind);
  const { request, turn } = read;
  const idempotencyKey = idempotencyKeyOf(exchange.call);
  const session = noteRequest(call, dialect, request, request.stream);

  // Which model, where, and at what price at most?
  const requested = permitted(call, findModel(call.configured, call.key, request.modelId));
  // Before the route is sought: what a stored response continues may be gone.
  if (read.replay !== null) return replayed(call, turn, read.replay);
  const asked = { call, read, dialect, session };
  const plan = await planFor(asked, requested);

  // It runs once, with room for it, and with its cost set aside.
  const stored = idempotencyKey === null ? null : await claimIdempotency(call, idempotencyKey, request);
  if (stored !== null) return replayed(call, turn, stored);
  const { keeping } = turn;
  if (keeping?.isStored === true && keeping.conversation !== undefined)
    await lockConversation(call, keeping.conversation);
  await gateway.ongoing.enter(exchange, call.keyId);
  const isRepriced = exchange.call.origin.earlier === null && priceNow(exchange);
  const wanted = await generationOf(isRepriced ? await planFor(asked, requested) : plan);
  const held = await hold(wanted, asked);
  if (await exchange.call.origin.takeOver(held)) return exchange.handedOver();
  const { generation, meter } = held;
  return await settledOrReleased(gateway, exchange, generation.wanted, meter, () => answer(held));
}

/** Only requests of Responses continue a conversation. */
export async function readGeneration(call: AdmittedCall, kind: RequestKind): Promise<ReadRequest> {
  if (itemsFieldOf(kind) === "input") return readWithConversation(call, kind);
  return { request: await readRequest(call, kind), turn: noTurn, replay: null };
}

/** A request before it is known which model runs. */
interface AskedGeneration {
  readonly call: AdmittedCall;
  readonly read: ReadRequest;
  readonly dialect: ClientDialectName;
  readonly session: string | null;
}

/** A request within the limits of a model, and where it may go. */
interface PlannedGeneration extends GenerationTerms {
  readonly routed: RoutedCall;
}

/** Throws if the model cannot take the request. */
async function planFor(
  { call, read, dialect, session }: AskedGeneration,
  model: ModelSettings,
): Promise<PlannedGeneration> {
  const { request, turn } = read;
  rejectUnpriced(call.key, model);
  rejectIncapable(request.truncated, model, dialect);
  const limit = turn.isCompactedUpstream
    ? compactionLimit(call.configured, model)
    : clientDialect(dialect).limitOutput(request.truncated, model);
  const routed = await route(call, read, model, { dialect }, session);
  const extras = requestExtras(request, routed);
  const estimatedInput = request.estimateInput();
  await rejectOverlongInput(model, estimatedInput.tokens, request.bytes, () =>
    call.gateway.tokens.of(call.keyId),
  );
  return { routed, limit, extras, estimatedInput };
}

/** As it is sent: without tools that have no price. */
async function generationOf(plan: PlannedGeneration): Promise<Generation> {
  const { routed, extras } = plan;
  const unpriced = extras?.unpricedTools ?? noUnpricedTools;
  routed.exchange.unpricedTools = unpriced.names;
  return new Generation(routed, await withoutValues(routed, unpriced.paths), plan);
}

/**
 * Sets aside what the generation may cost. If a cap denies it and names another model to run instead, it runs on that model, under
 * that model's caps.
 */
async function hold(requested: Generation, asked: AskedGeneration): Promise<HeldGeneration> {
  const { call } = asked;
  const { gateway, exchange } = call;
  const held = exchange.call.origin.earlier?.hold ?? null;
  if (held !== null)
    return new HeldGeneration(requested, resumeHold(gateway, exchange, requested.wanted, held));
  const tried = new Set<ModelSettings>();
  for (let generation = requested; ; ) {
    const { model, wanted } = generation;
    tried.add(model);
    try {
      if (call.hasTokenLimits) await reserveTokens(gateway, exchange, wanted);
      return new HeldGeneration(generation, await holdFor(gateway, exchange, wanted));
    } catch (error) {
      const planOf = async (other: ModelSettings) => generationOf(await planFor(asked, other));
      generation = await stepDown(generation, error, tried, planOf);
    }
  }
}

/**
 * Calls providers until one responds, and relays or translates the response. The charge is durable before the bytes
 * that end the response are sent.
 */
async function answer({ generation, meter }: HeldGeneration): Promise<Response> {
  const { call } = generation;
  const { exchange } = call;
  if (call.turn.background !== null) await beginInBackground(generation);
  const asking = new GenerationCall(generation, meter);
  using _ = watchSilence(asking);
  if (exchange.endedBy !== null) throw exchange.endedBy;
  meter.noteExtras(null);
  let opened: OpenedCall;
  try {
    await paceRequest(generation.request.bytes);
    opened = await exchange.call.origin.open(asking, exchange.configured, exchange.clock);
  } catch (error) {
    return await chargeFailure(asking, errorOfStepDown(exchange, error));
  }
  exchange.answeredBy(opened);
  if (exchange.early?.answered !== undefined) await exchange.early.answered();
  const { attempt } = asking;
  assert(attempt !== null, "a provider has answered without an attempt");
  exchange.dropped = attempt.dropped;
  meter.noteExtras(null);
  const pending = { asking, attempt, opened };
  return generation.stream && opened.streaming ? streamResponse(pending) : await respondWhole(pending);
}
