import { shared } from "../../base/bytes.ts";
import type { ValidationOptions } from "../../dialects/contract/client-dialect.ts";
import { parseBody, truncateBody } from "../../dialects/json/parse-body.ts";
import { removeValues, type ValuePath } from "../../dialects/json/remove-values.ts";
import { inspectBody } from "../../dialects/names/inspect-body.ts";
import { inputSpans } from "../../dialects/openai-responses/client/turn-items.ts";
import { clientDialect } from "../../dialects/registry.ts";
import {
  dialectOf,
  itemsFieldOf,
  pathReader,
  type RequestKind,
  rejectLongLists,
  rejectTooManyMembers,
  type StructureLimits,
  validateRequest,
} from "../../dialects/request-kinds.ts";
import { offeredTools } from "../../dialects/tools/hosted-tools.ts";
import type { Job } from "../body-worker/job.ts";
import type { ClientCall } from "../exchange/client-call.ts";
import { type BodyFacts, ClientRequest, type LargeFacts, truncatedOf } from "./client-request.ts";
import { truncateStringsAndNames } from "./truncate-strings-and-names.ts";

/** The schema and limits to validate a body against. */
export interface ExpectedRequest {
  readonly kind: RequestKind;
  readonly options: ValidationOptions;
  readonly limits: StructureLimits;
  /** The request's path, for a dialect whose model is there; null once the body names it. */
  readonly path: string | null;
}

const withBetas: ValidationOptions = { hasBetas: true };
const withoutBetas: ValidationOptions = { hasBetas: false };

export function expectedOf(
  call: ClientCall,
  kind: RequestKind,
  { maxBodyMembers, maxListItems }: StructureLimits,
): ExpectedRequest {
  const { betaHeader } = clientDialect(dialectOf(kind));
  const options = betaHeader !== null && call.request.headers.has(betaHeader) ? withBetas : withoutBetas;
  return { kind, options, limits: { maxBodyMembers, maxListItems }, path: null };
}

/** The body with what its path says. */
export function withPath(bytes: Uint8Array, { kind, path }: ExpectedRequest): Uint8Array {
  return path === null ? bytes : (pathReader(kind)?.(bytes, path) ?? bytes);
}

/** Throws `invalid_request` for anything but a request of this kind. */
export function checkBody(
  bytes: Uint8Array,
  { kind, options, limits }: ExpectedRequest,
  scanned = truncateBody(bytes),
): ClientRequest {
  rejectTooManyMembers(bytes, scanned, kind, limits);
  const parsed = parseBody(bytes, scanned);
  const { truncated, cutBytes, spans } = parsed;
  rejectLongLists(truncated, limits);
  const mentions = inspectBody(parsed, bytes);
  validateRequest(kind, truncated, options);
  const tools = offeredTools(clientDialect(dialectOf(kind)), truncated, mentions.toolLists);
  const facts = { bytes, spans, mentions, tools };
  return new ClientRequest({ kind, facts, truncated, cutBytes, large: null });
}

interface ReadInput {
  readonly bytes: Uint8Array;
  readonly expected: ExpectedRequest;
  /** Whether idempotency needs the body's hash. */
  readonly wantsHash: boolean;
  /** Members to remove from the body first. */
  readonly without: readonly ValuePath[];
}

/** Parses and validates a large body. */
export const readJob: Job<ReadInput, BodyFacts & LargeFacts> = { name: "read", run: readLarge };

function readLarge({ bytes: sent, expected, wantsHash, without }: ReadInput): BodyFacts & LargeFacts {
  const whole = withPath(sent, expected);
  const read = checkBody(shared(without.length === 0 ? whole : removeValues(whole, without)), expected);
  const { bytes, spans, mentions, tools, openingHash, files } = read;
  const field = itemsFieldOf(expected.kind);
  return {
    bytes,
    truncatedText: truncateStringsAndNames(read.truncated),
    spans,
    // The lists of tools may be long, and have been read.
    mentions: { ...mentions, toolLists: [] },
    tools,
    estimatedInput: read.estimateInput(),
    bodyHash: wantsHash ? read.bodyHash : "",
    openingHash,
    items: field === null ? null : inputSpans(bytes, field),
    files,
  };
}

/** A request whose body was read on another thread. */
export function largeRequest(read: BodyFacts & LargeFacts, kind: RequestKind): ClientRequest {
  return new ClientRequest({ kind, facts: read, truncated: truncatedOf(read), cutBytes: 0, large: read });
}
