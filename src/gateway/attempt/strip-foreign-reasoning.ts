import type { JsonObject } from "../../base/json.ts";
import { type JsonSpans, scanTopLevel } from "../../dialects/json/json-spans.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import { mayHoldEnvelope } from "../../dialects/reasoning/foreign-reasoning.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { ClientRequest } from "../request/request.ts";

export interface PassthroughBody {
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  /** What is left to change. */
  readonly changes: BodyChanges;
  /** Fields of the request that were dropped. */
  readonly dropped: readonly string[];
}

const nothing: readonly string[] = [];

/**
 * A body that passes through, as the client sent it. Only a conversation that began on another provider is rewritten,
 * because vendors reject reasoning that is not their own. A compatible provider may be another Sluice, which reads
 * these envelopes itself.
 */
export function withoutForeignReasoning(
  request: ClientRequest,
  dialect: ClientDialectName,
  deployment: Deployment,
  changes: BodyChanges,
): PassthroughBody {
  const { bytes, spans } = request;
  const { stripForeignReasoning, fieldNames } = clientDialect(dialect);
  if (stripForeignReasoning === null || !mayNeedStripping(dialect, deployment) || !mayHoldEnvelope(bytes)) {
    return { bytes, spans, changes, dropped: nothing };
  }
  const body = stripForeignReasoning(request.body);
  if (body === request.body) return { bytes, spans, changes, dropped: nothing };
  const written = new TextEncoder().encode(JSON.stringify(body));
  return {
    bytes: written,
    spans: scanTopLevel(written),
    changes: changesAfterStripping(request.body, body, changes),
    dropped: [fieldNames.reasoning],
  };
}

/** Where thinking had to be disabled together with the reasoning, no budget enables it again. */
export function changesAfterStripping(
  body: JsonObject,
  stripped: JsonObject,
  changes: BodyChanges,
): BodyChanges {
  if (stripped["thinking"] === body["thinking"] || changes.thinking === undefined) return changes;
  const { thinking: _, ...others } = changes;
  return others;
}

/** Only vendors reject foreign reasoning, and not every dialect has a field for it. */
export function mayNeedStripping(dialect: ClientDialectName, { provider }: Deployment): boolean {
  const isStrict = vendorOf(provider.settings.kind).strictDialects.includes(dialect);
  return isStrict && clientDialect(dialect).stripForeignReasoning !== null;
}
