import { isObject, type Json } from "../base/json.ts";
import { Call, type CallContext } from "./call.ts";
import type { Directory } from "./directory.ts";
import { tryTakePlace } from "./places.ts";
import type { Plan } from "./upstream.ts";

/**
 * The provider's own count of a request's input, or null when none offers one or it cannot be had: counting
 * has a good answer of its own here, so no failure of a provider is ever the client's trouble. One attempt,
 * at the first deployment that offers it; what comes of it says nothing about generation.
 */
export async function countTokens(
  plan: Plan,
  directory: Directory,
  context: CallContext,
): Promise<number | null> {
  const nowMs = context.clock.monotonicMs();
  const candidate = directory.order(plan, nowMs).find(({ deployment, standing }) => {
    const offered = deployment.model === plan.model && deployment.provider.settings.countTokens;
    return offered && standing.breaker.state(nowMs) === "closed";
  });
  if (candidate === undefined) return null;
  const { standing } = candidate;
  // First, because it may throw: from the place on, the call gives back what was taken.
  const preparing = plan.prepare(candidate.deployment);
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  if (!tryTakePlace(standing)) return null;
  standing.inFlight += 1;
  const call = new Call(context, candidate, plan);
  const failure = await call.begin(prepared, standing.account.keys.pick(nowMs), nowMs);
  if (failure !== null) return null;
  const count = call.streaming ? null : readCount(await call.bytes());
  call.finished(call.streaming ? "cancelled" : "completed");
  return count;
}

function readCount(body: Uint8Array): number | null {
  try {
    const answer: Json = JSON.parse(Buffer.from(body).toString());
    const count = isObject(answer) ? answer["input_tokens"] : undefined;
    return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null;
  } catch {
    return null;
  }
}
