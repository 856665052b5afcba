import { GatewayError } from "../../base/errors.ts";
import type { StepDown } from "../../base/money/bound.ts";
import { inScope } from "../../catalog/catalog.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { asksForCompaction } from "../charge/requested-extras.ts";
import { returnTokens } from "../charge/reserve-tokens.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { findModel } from "../request/model.ts";
import type { RoutedCall } from "../request/route.ts";
import type { Generation } from "./generation.ts";

/**
 * The generation that runs instead of one that a cap has denied, if the cap names another model. Throws the cap's error if it names
 * none, or if that model cannot run the request. `planFor` creates the generation of a model, and throws if the model cannot run it.
 */
export async function stepDown(
  { call }: Generation,
  denial: unknown,
  tried: ReadonlySet<ModelSettings>,
  planFor: (model: ModelSettings) => Promise<Generation>,
): Promise<Generation> {
  const named = denial instanceof GatewayError ? denial.denied?.stepDown : undefined;
  if (!(denial instanceof GatewayError) || named === undefined) throw denial;
  const next = await planInstead(call, named, tried, planFor);
  if (next === null) throw denial;
  returnTokens(call.gateway, call.exchange);
  call.exchange.stepDownTo(next.model, denial);
  return next;
}

/** Null if the cap's error stays. */
async function planInstead(
  call: RoutedCall,
  { model: name, isAlways }: StepDown,
  tried: ReadonlySet<ModelSettings>,
  planFor: (model: ModelSettings) => Promise<Generation>,
): Promise<Generation | null> {
  const { exchange, configured, key } = call;
  if (!isAlways && (continuesState(call) || (await hasWarmCache(call)))) return null;
  try {
    const model = findModel(configured, key, name);
    // Caps are checked for circles, but a configuration can change what an alias means.
    if (tried.has(model)) return null;
    const plan = await planFor(model);
    const isReached = model.deployments.some((deployment) => inScope(plan.call.scope, deployment));
    return isReached ? plan : null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    exchange.attempts.addDenied(name, error);
    return null;
  }
}

const warmMs = 5 * 60_000;

/** Whether this key's last request of the same named session ran on the denied model, with cached input: another one has to read it all. */
async function hasWarmCache({ gateway, exchange, key, model }: RoutedCall): Promise<boolean> {
  const session = exchange.namedSession;
  if (session === null) return false;
  const last = await gateway.lastRequestOfSession(key.id, session, exchange.atMs - warmMs);
  return last?.model === model.id && last.cachedInputTokens > 0;
}

/** A request that could not be translated for the model it has stepped down to gets the error of the cap. Nothing was sent. */
export function errorOfStepDown(exchange: Exchange, error: unknown): unknown {
  const { steppedDown, attempts } = exchange;
  if (steppedDown === null || attempts.count > 0) return error;
  if (!(error instanceof GatewayError) || error.status !== 400) return error;
  exchange.model = steppedDown.from;
  exchange.steppedDown = null;
  return steppedDown.denial;
}

/**
 * Whether a request continues what was made by one model and may be of no use to another: a stored response or conversation, items by
 * reference, a compacted conversation, or reasoning that only its provider can read.
 */
function continuesState({ exchange, request, turn, dialect }: RoutedCall): boolean {
  const { truncated, mentions } = request;
  if (exchange.sentPaths !== null || turn.compaction !== null || turn.isCompactedUpstream) return true;
  if (mentions.references.some(({ kind }) => kind === "conversation" || kind === "item")) return true;
  if (asksForCompaction(truncated)) return true;
  const { holdsState, stripSignedReasoning: strip } = clientDialect(dialect);
  return holdsState(truncated) || (strip !== null && strip(truncated) !== truncated);
}
