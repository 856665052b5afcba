import { parseObject } from "../dialects/json/json-fields.ts";
import { type ProviderDialectName, providerDialect } from "../dialects/registry.ts";
import type { CallContext } from "./call/call-context.ts";
import { UpstreamCall } from "./call/upstream-call.ts";
import { tryTakeSlot } from "./health/slots.ts";
import type { Directory } from "./selection/directory.ts";
import type { CountingPlan } from "./upstream.ts";

/**
 * The provider's own count of a request's input; null if no provider offers one or the call fails, since the gateway
 * can count by itself. One attempt, at the first deployment that offers it. The result does not count for or against
 * the deployment's breaker.
 */
export async function countTokens(
  plan: CountingPlan,
  directory: Directory,
  context: CallContext,
): Promise<number | null> {
  const nowMs = context.clock.monotonicMs();
  const candidate = directory.order(plan, nowMs).find(({ deployment, state }) => {
    return (
      plan.mayCount(deployment) &&
      deployment.model === plan.model &&
      state.breaker.isClosedFor(nowMs, plan.keyId)
    );
  });
  if (candidate === undefined) return null;
  const { state } = candidate;
  // Before the slot is taken, because it may throw. Once the call has begun, it releases the slot by itself.
  const prepared = await plan.prepare(candidate.deployment);
  if (plan.isOver || !tryTakeSlot(state)) return null;
  state.inFlight += 1;
  const call = new UpstreamCall(context, candidate, plan, prepared.dialect);
  const key = state.providerState.keys.pick(nowMs, plan);
  const failure = await call.begin(prepared, key?.use() ?? null, nowMs);
  if (failure !== null) return null;
  const count = call.streaming ? null : readCount(call.bytes(), prepared.dialect);
  call.finished(call.streaming ? "cancelled" : "completed");
  return count;
}

/** A count is a few bytes; parsing what is longer could take long. */
const mostBytes = 64 * 1024;

function readCount(body: Uint8Array, dialect: ProviderDialectName): number | null {
  if (body.length > mostBytes) return null;
  const field = providerDialect(dialect).countTokens?.countField ?? "";
  const count = parseObject(Buffer.from(body).toString())?.[field];
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null;
}
