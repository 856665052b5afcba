import { assert } from "../../base/assert.ts";
import { truncateMessage } from "../../base/requests/attempt.ts";
import type { Hold } from "../../ledger/accounts.ts";
import { failureOfStatus } from "../../upstream/call/call-failure.ts";
import type { Deployment, OpenedCall, ReceivedBytes } from "../../upstream/upstream.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import { meterOf } from "../charge/hold.ts";
import type { LineSender, ReturnedLine } from "../exchange/client-call.ts";
import type { Generation } from "./generation.ts";
import { termsOf } from "./held-terms.ts";
import type { GenerationCall } from "./provider-call.ts";
import { prepareAttempt } from "./provider-call.ts";

/** A generation whose cost is set aside. */
export interface HeldGeneration {
  readonly generation: Generation;
  readonly meter: CostMeter;
}

/**
 * Leaves a line of a batch to its provider, which runs it in a batch of its own. The hold stays open, and the exchange ends without a
 * charge. False if the line runs here.
 */
export async function leaveToProvider(
  { generation, meter }: HeldGeneration,
  sender: LineSender,
): Promise<boolean> {
  const { call } = generation;
  const { exchange } = call;
  const deployment = deploymentWithBatches(generation);
  if (deployment === undefined) return false;
  const credentials = deployment.provider.credentials.map(({ id }) => id);
  const credential = call.credential ?? credentials[0];
  if (credential === undefined || !credentials.includes(credential)) return false;
  const { attempt, body } = await prepareAttempt(generation, deployment, true);
  const request = attempt.requestWith(body);
  const { hold, remaining } = meter;
  const terms = termsOf(exchange.configured, deployment);
  await sender.take({ deployment, credential, request, hold, remaining, terms });
  exchange.taken.hold = null;
  exchange.taken.content = null;
  exchange.isReplay = true;
  return true;
}

/** Only for the model that was requested, and for what does not change until the result comes. */
function deploymentWithBatches(generation: Generation): Deployment | undefined {
  const { call, model, extras } = generation;
  const { exchange, turn, scope } = call;
  const hasOtherModel = model.batch !== "native" || exchange.steppedDown !== null;
  const changes = turn.isCompactedUpstream || turn.compaction !== null || turn.keeping?.conversation != null;
  const runsOthers = extras?.rounds.some(({ other }) => other !== null) ?? false;
  if (hasOtherModel || runsOthers || changes) return undefined;
  return exchange.configured.upstream
    .deployments(model, scope)
    .find(({ provider }) => vendorOf(provider.settings.kind).batches !== undefined);
}

/** A line whose result has come, with the hold that it left open. */
export function returnedGeneration(generation: Generation, hold: Hold): HeldGeneration {
  const { gateway, exchange } = generation.call;
  exchange.taken.hold = hold;
  return { generation, meter: meterOf(gateway, exchange, generation.wanted, hold) };
}

/** What calling the provider would have returned. */
export async function openReturned(
  asking: GenerationCall,
  { result, provider, upstreamModel, credential }: ReturnedLine,
): Promise<OpenedCall> {
  const { exchange } = asking.call;
  const all = exchange.configured.upstream.deployments(asking.model, "all");
  const isIts = (each: Deployment) =>
    each.provider.settings.name === provider && each.upstreamModel === upstreamModel;
  const deployment = all.find(isIts) ?? all[0];
  assert(deployment !== undefined, "a model has a deployment");
  await asking.prepare(deployment);
  if (result.kind === "response") return new ReturnedResponse(deployment, credential, result.body);
  const { status, text } = result;
  const receivedAtMs = exchange.clock.wallMs();
  const answer = { head: { status, get: () => null }, text, receivedAtMs };
  const { error, kind, providerMessage } = failureOfStatus(answer, deployment, asking, "messages");
  const said = providerMessage === null ? null : truncateMessage(providerMessage);
  const { name, shownModel } = deployment;
  const record = { status, code: error.code, failure: kind, cause: null, said, durationMs: 0 };
  const target = { deployment: name, provider, upstreamModel: shownModel, left: "ended" } as const;
  asking.attemptFailed(deployment, { ...record, ...target }, credential, true, null);
  throw error;
}

/** A response that has come as a whole, and not from a call of this request. */
class ReturnedResponse implements OpenedCall {
  readonly streaming = false;
  readonly attempts = 1;
  readonly answeredAfterMs = 0;
  readonly headers = {};
  readonly head = null;
  outlivesClient = true;
  readonly deployment: Deployment;
  readonly credential: string;
  readonly whole: ReceivedBytes;
  readonly #body: Uint8Array;

  constructor(deployment: Deployment, credential: string, body: Uint8Array) {
    this.deployment = deployment;
    this.credential = credential;
    this.#body = body;
    this.whole = { pieces: [body], bytes: body.length };
  }

  bytes(): Uint8Array {
    return this.#body;
  }

  read(): null {
    return null;
  }

  abort(): void {}

  finished(): void {}
}
