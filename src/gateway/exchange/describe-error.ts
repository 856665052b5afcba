import { type ErrorCode, GatewayError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { internalError } from "../../base/requests/gateway-endings.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import { StoreError } from "../../store/store.ts";

const maxMessageChars = 500;

/** A database that is unreachable or full becomes a 503, so that the client retries. Any other error is returned unchanged. */
export function withoutStore(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown;
  if (thrown.reason === "disk_full") return noDiskSpace(thrown);
  if (thrown.reason !== "unreachable") return thrown;
  return new GatewayError(
    "service_unavailable",
    "The gateway cannot reach its database. Retry in a few seconds.",
    { retryAfterSeconds: 5, cause: thrown },
  );
}

export function noDiskSpace(cause?: unknown): GatewayError {
  const message = "The gateway has no disk space left to store this. Retry later.";
  return new GatewayError("service_unavailable", message, { retryAfterSeconds: 60, cause });
}

/** The error to show to the client. Anything unexpected becomes an internal error. */
export function publicErrorOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("internal_error", internalError, { cause: error });
}

/** The message that the client saw; may quote the provider. */
export function publicMessage(error: unknown): string {
  if (!(error instanceof GatewayError)) return internalError;
  return withoutSecrets(error.message).slice(0, maxMessageChars).toWellFormed();
}

export function errorCode(error: unknown): ErrorCode {
  return error instanceof GatewayError ? error.code : "internal_error";
}

/**
 * Details of an error for the log, beyond its code: the stack of an unexpected error, the kind of an expected cause.
 * Messages of expected causes are omitted, because parsers quote their input.
 */
export function describeCause(error: unknown): string | null {
  if (!(error instanceof GatewayError)) return stackOf(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return null;
  if (error.code === "internal_error") return stackOf(cause);
  return "code" in cause ? `${cause.name} ${String(cause.code)}` : cause.name;
}

/** The runtime's own errors, e.g. for an incomplete body, have an empty stack. */
function stackOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error);
}

/** A larger body is not compared; quotations are cut instead. */
export const comparedBytes = 16 * 1024;
/** Shorter runs of letters coincide by chance. */
const runChars = 12;
const leftOut = "[…]";
/** The values of these fields come from the API, not from the client. */
const apiFields: ReadonlySet<string> = new Set(["role", "type"]);

/**
 * The part of a message about a request that may be stored. Prompts may not, but providers quote them, and our own
 * messages have names that clients made up. Any text that the message shares with the request is removed. `body` is
 * null if it was too large to compare; then everything from the first quotation on is removed.
 */
export function withoutRequestText(
  message: string,
  body: Uint8Array | null,
  known: ReadonlySet<string>,
): string {
  if (body === null) return cutAtQuotation(message);
  const texts = textsOf(body, known);
  const all = texts.join("\n");
  const isShared = new Uint8Array(message.length);
  for (let at = 0; at + runChars <= message.length; at += 1) {
    if (all.includes(message.slice(at, at + runChars))) isShared.fill(1, at, at + runChars);
  }
  let kept = "";
  for (let at = 0; at < message.length; at += 1) {
    if (isShared[at] === 0) kept += message[at];
    else if (isShared[at - 1] !== 1) kept += leftOut;
  }
  return texts.filter(isShortText).reduce((rest, text) => rest.replaceAll(text, leftOut), kept);
}

function cutAtQuotation(message: string): string {
  const at = message.search(/["'`“‘{[]/);
  return at === -1 ? message : `${message.slice(0, at)}${leftOut}`;
}

function isShortText(text: string): boolean {
  return text.length >= 6 && text.length < runChars;
}

/** Every text that the client wrote, or the whole body if it is not JSON. */
function textsOf(body: Uint8Array, known: ReadonlySet<string>): string[] {
  const source = new TextDecoder().decode(body);
  const texts: string[] = [];
  const collect = (value: unknown, name: string): void => {
    if (typeof value === "string") {
      if (!apiFields.has(name) && !known.has(value)) texts.push(value);
    } else if (Array.isArray(value)) {
      for (const item of value) collect(item, name);
    } else if (isObject(value)) {
      for (const [member, inner] of Object.entries(value)) collect(inner, member);
    }
  };
  try {
    collect(JSON.parse(source), "");
  } catch {
    return [source];
  }
  return texts;
}
