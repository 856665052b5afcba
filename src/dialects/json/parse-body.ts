import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { brokenJson, type JsonSpans, maxDepth, scanTopLevel } from "./json-spans.ts";
import { type TruncatedJson, truncateStrings } from "./truncate-strings.ts";

/** A parsed body: values to read, and the positions in its bytes that can be patched (patch.ts). */
export interface ParsedBody {
  /** The body; its long strings may be truncated (truncate-strings.ts). */
  readonly truncated: JsonObject;
  /** Number of bytes of text that were cut; 0 if nothing was truncated. */
  readonly cutBytes: number;
  readonly spans: JsonSpans;
  /** Members of all objects, at every level. A duplicate name counts twice. */
  readonly memberCount: number;
}

/** A byte-order mark is kept, so that it is rejected as invalid JSON: a provider that gets these bytes may reject it too. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Throws `invalid_request` if the body is not a JSON object, not UTF-8, nested too deeply, or has a governed name
 * twice. The bytes are scanned before they are parsed, because parsing millions of open brackets takes
 * seconds. Names like `__proto__` become plain fields.
 */
export function parseBody(bytes: Uint8Array, truncated = truncateBody(bytes)): ParsedBody {
  if (bytes.length === 0) throw invalidRequest("The request body is empty. Send a JSON object.");
  if (truncated === null) {
    const tally = { members: 0 };
    const spans = scanTopLevel(bytes, undefined, tally);
    const memberCount = spans.memberCount + tally.members;
    return { truncated: parseWhole(bytes), cutBytes: 0, spans, memberCount };
  }
  const { cutBytes, nested, memberCount } = truncated;
  const spans = scanTopLevel(bytes, nested);
  return { truncated: parseWhole(truncated.bytes), cutBytes, spans, memberCount };
}

/** The first step of parsing, for callers that check the body's structure first. */
export function truncateBody(bytes: Uint8Array): TruncatedJson | null {
  return truncateStrings(bytes, maxDepth);
}

/** Parses without truncating. `scanTopLevel` has seen an opening brace, so a successful parse returns an object. */
export function parseWhole(bytes: Uint8Array): JsonObject {
  const text = decodeUtf8(bytes);
  try {
    return JSON.parse(text);
  } catch {
    throw brokenJson();
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalidRequest("The request body is not valid UTF-8.");
  }
}
