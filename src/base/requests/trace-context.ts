/** A request's position in a distributed trace (https://www.w3.org/TR/trace-context/). */
export interface TraceContext {
  readonly traceId: string;
  /** The caller's span; null if the trace begins here. */
  readonly parentId: string | null;
  /** Our own span; null if this gateway does not trace, so that the caller's context is passed on unchanged. */
  readonly spanId: string | null;
  /** Two hexadecimal digits; the last bit tells whether the trace is recorded. */
  readonly flags: string;
  readonly state: string | null;
}

/** Versions newer than 00 can have more fields after these. */
const traceparentForm = /^(?!ff|00-.{52}-)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const stateForm = /^[\x20-\x7e]{1,512}$/;
const allZero = /^0+$/;
const recorded = "01";

/** The caller's context, with a span of ours if `isTraced`. Without a valid one: a new context if `isTraced`, otherwise null. */
export function traceContextOf(headers: Headers, isTraced: boolean): TraceContext | null {
  const [, traceId = "", parentId = "", flags = ""] =
    traceparentForm.exec(headers.get("traceparent") ?? "") ?? [];
  const isContinued = traceId !== "" && !allZero.test(traceId) && !allZero.test(parentId);
  const spanId = isTraced ? randomHex(8) : null;
  if (isContinued) return { traceId, parentId, spanId, flags, state: stateIn(headers) };
  return isTraced ? { traceId: randomHex(16), parentId: null, spanId, flags: recorded, state: null } : null;
}

/** The headers that pass the trace on to the provider. */
export function traceHeaders({
  traceId,
  parentId,
  spanId,
  flags,
  state,
}: TraceContext): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId ?? parentId}-${flags}`;
  return state === null ? { traceparent } : { traceparent, tracestate: state };
}

function stateIn(headers: Headers): string | null {
  const state = headers.get("tracestate");
  return state !== null && stateForm.test(state) ? state : null;
}

export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
