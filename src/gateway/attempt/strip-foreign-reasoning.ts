import type { JsonObject } from "../../base/json.ts";
import { type JsonSpans, scanTopLevel } from "../../dialects/json/json-spans.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import { mayBeForeign } from "../../dialects/reasoning/foreign-reasoning.ts";
import { type ClientDialectName, clientDialect, type SharedDialectName } from "../../dialects/registry.ts";
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

/** Which reasoning is taken out of a body that passes through. */
export type StrippedReasoning = "none" | "foreign" | "proven";

/**
 * A body that passes through, as the client sent it. Only a conversation that began on another provider is rewritten,
 * because vendors reject reasoning that is not their own, and one whose reasoning the provider has said it cannot read.
 */
export function stripBody(
  request: ClientRequest,
  dialect: ClientDialectName,
  stripped: StrippedReasoning,
  changes: BodyChanges,
): PassthroughBody {
  const { bytes, spans } = request;
  const { fieldNames } = clientDialect(dialect);
  const strip = stripperFor(dialect, stripped, bytes);
  if (strip === null) return { bytes, spans, changes, dropped: nothing };
  const body = strip(request.body);
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

/** Null if there is nothing to strip. */
export function stripperFor(
  dialect: ClientDialectName,
  stripped: StrippedReasoning,
  bytes: Uint8Array,
): ((body: JsonObject) => JsonObject) | null {
  const { stripForeignReasoning, stripProvenReasoning } = clientDialect(dialect);
  if (stripped === "proven") return stripProvenReasoning;
  return stripped === "foreign" && mayBeForeign(bytes) ? stripForeignReasoning : null;
}

/** Only vendors reject foreign reasoning. A compatible provider may be another Sluice, which reads envelopes itself. */
export function rejectsForeignReasoning(dialect: SharedDialectName, { provider }: Deployment): boolean {
  return vendorOf(provider.settings.kind).strictDialects.includes(dialect);
}
