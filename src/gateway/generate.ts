import { assert } from "../base/assert.ts";
import { TurnBatch } from "../base/loop/batch.ts";
import { TurnShare } from "../base/loop/share.ts";
import { traceContextOf } from "../base/requests/trace-context.ts";
import { maxInputTokens } from "../catalog/estimate.ts";
import { type ClientDialectName, clientDialect } from "../dialects/registry.ts";
import type { RequestKind } from "../dialects/schema/validate.ts";
import type { KeyRecord } from "../store/store.ts";
import type { Opened } from "../upstream/upstream.ts";
import { admit } from "./admission/admit.ts";
import { chargeFailure } from "./answer/charge-failure.ts";
import { streamResponse } from "./answer/stream-response.ts";
import {
  readOrChargeFailure,
  refuseUnreadable,
  settleWhole,
  wholeResponse,
} from "./answer/whole-response.ts";
import { Generation } from "./attempt/generation.ts";
import { largeBodyBytes } from "./body-worker/is-large.ts";
import { largeTurns } from "./body-worker/large-body-pacer.ts";
import { askedExtras } from "./charge/asked-extras.ts";
import { nothingWithheld } from "./charge/asked-tools.ts";
import type { Bill } from "./charge/bill.ts";
import { charged } from "./charge/charged.ts";
import { usedExtras } from "./charge/extras.ts";
import { narrowContent } from "./content.ts";
import { compactionLimit } from "./conversations/compaction.ts";
import { lockConversation } from "./conversations/conversation-lock.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { refuseOverlongInput } from "./request/context-window.ts";
import { claimIdempotency, replay } from "./request/idempotent.ts";
import { labelExchange } from "./request/labels.ts";
import { continuationOf } from "./request/provider-id-owners.ts";
import { readRequest, withoutValues } from "./request/read-request.ts";
import {
  findModel,
  idempotencyKeyOf,
  refuseForbidden,
  refuseUnpriced,
  refuseUnusableTools,
} from "./request/request.ts";

/** A stream that has begun is served before requests that have not: only so many of them go their way in a short turn. */
const begunPerTurn = 64;

/** Requests that come in one turn of the event loop go their way together. */
const arrivals = new TurnBatch<() => void>((resume) => resume(), new TurnShare(begunPerTurn));

/**
 * A generation request, from top to bottom. Every step may refuse it by throwing a GatewayError, and then no later step
 * has had an effect. What is taken on the way (a claim, a place, a hold, the provider's answer) is kept in the exchange,
 * and given back in one place when that ends (end-exchange.ts).
 */
export async function generate(
  gateway: Gateway,
  exchange: Exchange,
  dialect: ClientDialectName,
  kind: RequestKind = dialect,
): Promise<Response> {
  if (arrivals.shouldAdd()) await new Promise<void>((resume) => arrivals.add(resume));
  const { call, configured } = exchange;
  exchange.trace = traceContextOf(call.request.headers, configured.settings.tracing !== null);
  const key = await admit(gateway, exchange);
  const request = await readRequest(gateway, exchange, key, kind);
  // Only now: the server should cut off a client that is slow to send its body, but not one that waits for a provider.
  call.keepWaiting();
  const idempotencyKey = idempotencyKeyOf(call);
  exchange.stream = request.stream;
  labelExchange(gateway, exchange, key, dialect, request.truncated);

  const model = findModel(configured, key, request.modelId);
  exchange.model = model;
  narrowContent(exchange);
  if (request.modelId !== model.id) exchange.askedModel = request.modelId;
  refuseForbidden(configured, key, model);
  refuseUnpriced(key, model);
  refuseUnusableTools(request.truncated, model);
  const limit = exchange.isCompactedUpstream
    ? compactionLimit(exchange, model)
    : clientDialect(dialect).limitOutput(request.truncated, model);
  if (exchange.replay !== null) return replay(exchange, exchange.replay);
  const { mentions } = request;
  const asked = { configured, key, model, dialect, mentions };
  const { scope, credential, storedInput } = await continuationOf(gateway.idOwners, asked);
  exchange.askedExtras = askedExtras(request, { dialect, configured, model, scope, key });
  exchange.extras = usedExtras(exchange, null);
  const estimatedInput = request.estimateInput();
  await refuseOverlongInput(model, estimatedInput.tokens, request.bytes, gateway.tokens.of(key.id));

  const claimed = await claimIdempotency(gateway, exchange, key, idempotencyKey, request);
  if (claimed.kind === "replay") return replay(exchange, claimed);
  exchange.claim = claimed.claim;
  const { keeping } = exchange;
  if (keeping?.isStored && keeping.conversation) {
    await lockConversation(gateway, exchange, key, keeping.conversation);
  }
  const { paths, names } = exchange.askedExtras?.withheld ?? nothingWithheld;
  exchange.withheld = names;
  const sent = paths.length === 0 ? request : await withoutValues(gateway, exchange, request, dialect, paths);
  if (!gateway.ongoing.tryEnter(exchange, key.id)) await gateway.ongoing.enter(exchange, key.id);

  const { largeBodies } = gateway;
  const parts = {
    largeBodies,
    exchange,
    model,
    scope,
    credential,
    keyId: key.id,
    request: sent,
    dialect,
    limit,
    estimatedInput,
  };
  return await runCharged(gateway, exchange, key, new Generation(parts), storedInput);
}

function runCharged(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  generation: Generation,
  storedInput: number,
): Promise<Response> {
  const { model, request, limit, estimatedInput } = generation;
  const input = maxInputTokens(estimatedInput, model.contextWindow) + storedInput;
  const wanted = {
    key,
    model,
    atMost: { input, output: limit.maxOutputTokens },
    usual: { input: estimatedInput.tokens + storedInput, output: limit.maxOutputTokens },
    storedInput,
    requestBytes: request.bytes,
    canBeCounted: estimatedInput.unmeasured === 0,
  };
  return charged(gateway, exchange, wanted, (bill) => answer(gateway, exchange, key, generation, bill));
}

/** Asks a provider, and answers the client with what it says. */
async function answer(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  generation: Generation,
  bill: Bill,
): Promise<Response> {
  if (exchange.endedBy !== null) throw exchange.endedBy;
  let opened: Opened;
  try {
    opened = await exchange.configured.upstream.open(generation);
  } catch (error) {
    return await chargeFailure({ exchange, generation, bill }, error);
  }
  exchange.answeredBy(opened);
  const { attempt } = generation;
  assert(attempt !== null, "a provider has answered without an attempt");
  exchange.dropped = attempt.dropped;
  exchange.extras = usedExtras(exchange, null);

  const answering = { gateway, exchange, key, generation, attempt, opened, bill };
  if (generation.stream && opened.streaming) return streamResponse(answering);
  const whole = await readOrChargeFailure(answering);
  refuseUnreadable(answering);
  // The charge is durable before the body leaves.
  await settleWhole(answering, whole);
  if (whole.body.length >= largeBodyBytes) await largeTurns.turn();
  return wholeResponse(answering, whole);
}
