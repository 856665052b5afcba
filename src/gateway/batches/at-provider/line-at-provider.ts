import { assert } from "../../../base/assert.ts";
import { truncateMessage } from "../../../base/requests/attempt.ts";
import type { Hold } from "../../../ledger/accounts.ts";
import { failureOfStatus } from "../../../upstream/call/call-failure.ts";
import type { Deployment, GenerationPlan, OpenedCall, ReceivedBytes } from "../../../upstream/upstream.ts";
import type { ProviderResult } from "../../../vendors/batches.ts";
import type { PreparedRequest } from "../../../vendors/provider.ts";
import { vendorOf } from "../../../vendors/registry.ts";
import type { ActiveConfig } from "../../active-config.ts";
import type { EarlierRun, HeldRequest } from "../../exchange/origin.ts";
import { termsOf } from "./held-terms.ts";

/** A line that is held, as its provider takes it. */
export interface LeavingLine {
  readonly deployment: Deployment;
  readonly credential: string;
  readonly request: PreparedRequest;
  readonly hold: Hold;
  /** What the tightest limit still allows. */
  readonly remaining: number;
  /** What it is charged by. */
  readonly terms: string;
}

export interface LineSender {
  /** Whether it has taken the line. */
  readonly hasTaken: boolean;
  /** From now on the hold is the sender's. Throws if the line has to wait. */
  take(line: LeavingLine): Promise<void>;
}

/** A line whose result has come. Its configuration is the one by which it was held, and is charged. */
export interface ReturnedLine extends EarlierRun {
  readonly result: Extract<ProviderResult, { readonly kind: "response" | "error" }>;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly credential: string;
}

/**
 * Leaves a line of a batch to its provider, which runs it in a batch of its own. The hold stays open, and the exchange ends without a
 * charge. False if the line runs here.
 */
export async function leaveToProvider(held: HeldRequest, sender: LineSender): Promise<boolean> {
  const deployment = deploymentWithBatches(held);
  if (deployment === undefined) return false;
  const credentials = deployment.provider.credentials.map(({ id }) => id);
  const credential = held.credential ?? credentials[0];
  if (credential === undefined || !credentials.includes(credential)) return false;
  const request = await held.prepare(deployment);
  const { hold, remaining } = held;
  const terms = termsOf(held, deployment);
  await sender.take({ deployment, credential, request, hold, remaining, terms });
  return true;
}

function deploymentWithBatches({
  model,
  scope,
  isSelfContained,
  configured,
}: HeldRequest): Deployment | undefined {
  if (model.batch !== "native" || !isSelfContained) return undefined;
  return configured.upstream
    .deployments(model, scope)
    .find(({ provider }) => vendorOf(provider.settings.kind).batches !== undefined);
}

/** What calling the provider would have returned. */
export async function openReturned(
  asking: GenerationPlan,
  { result, provider, upstreamModel, credential }: ReturnedLine,
  { upstream }: ActiveConfig,
  receivedAtMs: number,
): Promise<OpenedCall> {
  const all = upstream.deployments(asking.model, "all");
  const isIts = (each: Deployment) =>
    each.provider.settings.name === provider && each.upstreamModel === upstreamModel;
  const deployment = all.find(isIts) ?? all[0];
  assert(deployment !== undefined, "a model has a deployment");
  await asking.prepare(deployment);
  if (result.kind === "response") return new ReturnedResponse(deployment, credential, result.body);
  const { status, text } = result;
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
