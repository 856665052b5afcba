import { assert } from "../base/assert.ts";
import { type ClientDialectName, clientDialect } from "../dialects/registry.ts";
import { admit } from "./admit.ts";
import {
  type Answering,
  abandon,
  readAnswer,
  refuseUnreadable,
  settleWhole,
  streamResponse,
  wholeResponse,
} from "./answer.ts";
import { Bill } from "./bill.ts";
import { refuseOverlongInput } from "./context-window.ts";
import type { Exchange } from "./exchange.ts";
import { askedExtras, usedExtras } from "./extras.ts";
import type { Gateway } from "./gateway.ts";
import { Generation } from "./generation.ts";
import { scopeOf } from "./given-ids.ts";
import { holdFor } from "./hold.ts";
import { claimIdempotency, replay } from "./idempotent.ts";
import { readRequest } from "./read-request.ts";
import { idempotencyKeyOf, refuseUnpriced, refuseUnusableTools, resolveModel } from "./request.ts";

/**
 * The way of a generation request, from top to bottom. Every step may refuse by throwing a GatewayError;
 * a request refused at one step has had no effect of a later one. What is taken on the way (a place, an
 * idempotency claim, a hold) is given back here if nothing came of it, and by the response once that has begun.
 */
export async function generate(
  gateway: Gateway,
  exchange: Exchange,
  dialect: ClientDialectName,
): Promise<Response> {
  const { configured } = gateway;
  const { microUsdPerCredit } = configured.settings;
  const { call } = exchange;
  // Here and below, what usually has its answer at once is awaited only where it has not: a turn less for each.
  const admitted = admit(gateway, exchange);
  const key = admitted instanceof Promise ? await admitted : admitted;

  const request = await readRequest(gateway, exchange, key, dialect);
  // Only now: a client that is slow with its body is cut off by the server, and a provider may be slow.
  call.keepWaiting();
  const idempotencyKey = idempotencyKeyOf(call);
  exchange.stream = request.stream;
  const model = resolveModel(configured, key, request.modelId);
  exchange.model = model;
  refuseUnpriced(key, model);
  refuseUnusableTools(request.truncated, model);
  const limit = clientDialect(dialect).limitOutput(request.truncated, model);
  const { references } = request.mentions;
  const scope =
    references.length === 0 ? key.scope : await scopeOf(gateway.givenIds, configured, key, model, references);
  exchange.askedExtras = askedExtras(request, { dialect, configured, model, scope });
  exchange.extras = usedExtras(exchange.askedExtras, null);
  const estimatedInput = request.estimateInput();
  const counting = refuseOverlongInput(model, estimatedInput, request.bytes, gateway.tokens);
  if (counting !== undefined) await counting;

  const claiming = claimIdempotency(gateway, exchange, key, idempotencyKey, request);
  const claimed = claiming instanceof Promise ? await claiming : claiming;
  if (claimed.kind === "replay") return replay(exchange, claimed.response);
  const { claim } = claimed;

  let bill: Bill | null = null;
  let answering: Answering | null = null;
  try {
    if (!gateway.ongoing.tryEnter(exchange, key.id)) await gateway.ongoing.enter(exchange, key.id);
    const wanted = { input: estimatedInput, output: limit.maxOutputTokens };
    const holding = holdFor(gateway, exchange, key, model, wanted, request.bytes);
    const { hold, held } = holding instanceof Promise ? await holding : holding;
    bill = new Bill({ terms: gateway, microUsdPerCredit, exchange, key, hold, held });

    const { id: keyId } = key;
    const { changes } = limit;
    const { largeBodies } = gateway;
    const parts = { largeBodies, exchange, model, scope, keyId, request, dialect, changes, estimatedInput };
    const generation = new Generation(parts);
    if (exchange.endedBy !== null) throw exchange.endedBy;
    const opened = await configured.upstream.open(generation);
    const { attempt } = generation;
    assert(attempt !== null, "a provider has answered without an attempt");
    answering = { gateway, exchange, key, generation, attempt, opened, bill, claim };
    exchange.answeredBy(opened);
    exchange.dropped = attempt.dropped;

    const reading = readAnswer(answering);
    if (reading === null) return streamResponse(answering);
    const whole = reading instanceof Promise ? await reading : reading;
    refuseUnreadable(answering);
    // The charge is durable before the body leaves.
    await settleWhole(answering, whole);
    return wholeResponse(answering, whole);
  } catch (error) {
    if (answering !== null) abandon(answering);
    bill?.release();
    if (claim !== null) gateway.idempotency.release(claim);
    gateway.ongoing.leave(exchange, key.id);
    throw error;
  }
}
