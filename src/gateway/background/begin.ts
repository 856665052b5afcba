import { invalidRequest } from "../../base/errors.ts";
import { queuedHead, withoutOutput } from "../../dialects/openai-responses/client/background.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { Generation } from "../attempt/generation.ts";
import { BackgroundOrigin } from "../conversations/background-request.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { Replay } from "../exchange/claims.ts";
import type { RoutedCall, TurnPlan } from "../request/route.ts";
import { bodyResponse } from "../response/body-response.ts";
import { commonHeaders } from "../response/headers.ts";
import { jsonHeaders } from "../response/pending-response.ts";
import { recordResponse, replay } from "../response/record-response.ts";
import type { BackgroundRequest } from "../turns/backgrounds.ts";
import { bodyPieces } from "../turns/turn-body.ts";
import { writtenAhead } from "../turns/write-ahead.ts";
import { BackgroundRun, type QueuedTurn } from "./background-run.ts";
import { callPieces, DetachedCall, storedCall } from "./detached-call.ts";
import { eventsResponse } from "./event-stream.ts";

/**
 * Continues a request without its client, who gets a response now: the queued response, or its events. Called once its
 * cost is held. For a request that is run again, the client already got it.
 */
export async function beginInBackground({ call, atSeconds, request }: Generation): Promise<void> {
  const { gateway, exchange, turn } = call;
  const { background: plan, keeping } = turn;
  if (plan === null || keeping === null) return;
  const known = gateway.backgrounds.running(plan.id);
  if (known instanceof BackgroundRun) {
    exchange.early = known;
    return known.attach(exchange);
  }
  const { parentId } = keeping;
  const head = queuedHead({
    id: plan.id,
    atSeconds,
    body: request.quickBody,
    model: call.model.id,
    parentId,
  });
  const queued: QueuedTurn = { id: plan.id, head, input: keeping.input(), parentId };
  const run = await store(call, plan, queued);
  const answer = plan.isStreamed
    ? eventsResponse(call, plan.id, 0, true)
    : respond(call, withoutOutput(head));
  run.attach(exchange);
  exchange.respondEarly(run, answer);
}

/** A retry of a request whose response was begun before: its first response again, or all of its events. */
export function replayed(call: AdmittedCall, { background }: TurnPlan, claimed: Replay): Response {
  if (background?.isStreamed !== true) return replay(call.exchange, claimed);
  call.exchange.isReplay = true;
  const { id } = JSON.parse(Buffer.from(claimed.response.body).toString());
  return eventsResponse(call, id, 0);
}

/** Durable together with what a retry gets, before the client knows of it. */
async function store(call: RoutedCall, plan: BackgroundRequest, queued: QueuedTurn): Promise<BackgroundRun> {
  const { gateway, exchange, keyId } = call;
  const { backgrounds, clock, claims } = gateway;
  const { settings } = call.configured;
  const { id, isStreamed } = plan;
  await backgrounds.enter(keyId, id, settings.responses.backgroundPerKey);
  const createdAtMs = Math.floor(clock.wallMs());
  try {
    const turn = await queuedTurn(call, queued);
    const client = storedCall(exchange.call, settings.server.userHeaders);
    const pieces = bodyPieces(id, callPieces(client, plan.sent), settings.responses.encryptionKey);
    const { body, ...ahead } = await writtenAhead(pieces, (part) =>
      backgrounds.store.recordResponsePart(part),
    );
    const owner = { keyId, exchangeId: exchange.id, node: backgrounds.node };
    const begun = { id, isStreamed, ...owner, createdAtMs, call: body, ...ahead };
    const { claim } = exchange.taken;
    const answer =
      claim && (await recordResponse(gateway, exchange, claim, withoutOutput(queued.head), jsonHeaders));
    await backgrounds.store.background.begin(begun, turn, answer);
    if (claim !== null) await claims.end(claim);
    exchange.taken.claim = exchange.taken.recorder = null;
    const { route } = exchange.call;
    const origin = new BackgroundOrigin({ id, isStreamed });
    const detached = new DetachedCall({ route, call: client, keyId, origin });
    const run = new BackgroundRun({ gateway, keyId, plan, call: detached, queued, events: 0 });
    backgrounds.add(run);
    return run;
  } catch (error) {
    backgrounds.remove(keyId, id);
    // It may be there nevertheless, and its client will not know of it.
    void backgrounds.forget(keyId, id, createdAtMs);
    throw error;
  }
}

/** Throws if the request exceeds what the key can store. */
async function queuedTurn(
  { gateway, configured, keyId, model }: RoutedCall,
  queued: QueuedTurn,
): Promise<TurnRecord> {
  const { id, head, input, parentId } = queued;
  const response = { id, head, output: [] };
  const facts = { keyId, model: model.id, provider: "", parentId, input, response, conversation: null };
  const [turn] = await gateway.turns.withRoom(await gateway.turns.record(facts, configured.settings));
  if (turn !== undefined) return turn;
  const message =
    "The request is larger than what this key can store, so its response cannot run in the background.";
  throw invalidRequest(message, "background");
}

function respond({ exchange }: RoutedCall, queued: Uint8Array): Response {
  return bodyResponse(exchange, [queued], { headers: { ...commonHeaders(exchange), ...jsonHeaders } });
}
