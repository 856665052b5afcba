import { GatewayError, invalidRequest, type VendorError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { IrRequest } from "../ir/ir.ts";
import { listOf } from "../json/json-fields.ts";

/** A client dialect's names for what a translation may have to drop or reject. */
export interface FieldNames {
  /** The conversation. */
  readonly turns: string;
  /** The most that the response may have, in tokens. */
  readonly outputLimit: string;
  /** The reasoning effort. */
  readonly effort: string;
  /** Reasoning of earlier turns. */
  readonly reasoning: string;
  readonly stop: string;
  readonly cacheMark: string;
  readonly imageDetail: string;
  readonly formatDescription: string;
  /** The end user's id. */
  readonly user: string;
  /** At most one tool call at a time. */
  readonly singleCall: string;
  readonly temperature: string;
  readonly topP: string;
  readonly topK: string;
  readonly serviceTier: string;
  /** The kinds of output: text, images, speech. */
  readonly modalities: string;
  readonly safetyIdentifier: string;
  readonly promptCacheKey: string;
  readonly verbosity: string;
  readonly store: string;
  readonly metadata: string;
  readonly toolChoice: string;
  /** A tool whose calls follow its schema exactly. */
  readonly strict: string;
  /** Domains that a search must not use. */
  readonly blockedDomains: string;
  /** The name of a message's author. */
  readonly messageName: string;
  /** The beginning of the response, as the last message. */
  readonly prefill: string;
}

/** The names that OpenAI's and Anthropic's formats share. A name that only one of them has is the same in the other. */
export const sharedNames = {
  outputLimit: "max_tokens",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  serviceTier: "service_tier",
  modalities: "modalities",
  safetyIdentifier: "safety_identifier",
  promptCacheKey: "prompt_cache_key",
  verbosity: "verbosity",
  store: "store",
  metadata: "metadata",
  toolChoice: "tool_choice",
  strict: "strict",
  blockedDomains: "tools[].blocked_domains",
  messageName: "messages[].name",
  prefill: "prefill",
} as const satisfies Partial<FieldNames>;

/** Collects the fields that a translation drops because the request works without them; reported in `x-sluice-dropped`. */
export class DroppedFields {
  /** The client dialect's, so that the client recognises what is reported. */
  readonly names: FieldNames;
  readonly #dropped = new Set<string>();

  constructor(names: FieldNames) {
    this.names = names;
  }

  /** `field` as the client wrote it: a name, or a path such as `tools[2]`. */
  add(field: string): void {
    this.#dropped.add(field);
  }

  addNamed(field: keyof FieldNames): void {
    this.#dropped.add(this.names[field]);
  }

  get fields(): readonly string[] {
    return [...this.#dropped];
  }
}

/** The stop sequences to send. Most providers reject those that are only white space, so these are dropped. */
export function takenStops({ stop }: Pick<IrRequest, "stop">, dropped: DroppedFields): string[] {
  const stops = stop.filter((sequence) => sequence.trim() !== "");
  if (stops.length < stop.length) dropped.addNamed("stop");
  return stops;
}

/** The reason of fields that no other vendor has. */
export const unsupported = "is not supported by this model's provider";

/** The one form of an error for a rejected field: `why` begins with a verb, and can end with advice. */
function rejectionText(field: string, why: string): string {
  return `\`${field}\` ${why}.`;
}

/** Rejects an invalid field, or one that the target cannot express and the client would miss. */
export function reject(field: string, why: string): never {
  throw invalidRequest(rejectionText(field, why), field);
}

/** A valid field that cannot be sent to this model's provider; `why` as for `reject`. */
export class Untranslatable extends GatewayError {
  constructor(field: string, why: string) {
    super("invalid_request", rejectionText(field, why), { param: field });
  }
}

/**
 * How a translation treats a field of a client's request. A test compares the dialects' tables with the types of the
 * vendors' SDKs, so that a field in a new version has to be decided on.
 *
 * - `carried`: translated. A provider's dialect without a counterpart drops and reports it, or rejects it.
 * - `ignored`: has no meaning for another provider, such as an item's id.
 * - `dropped`: no other dialect has it, and the response means the same without it. It is reported.
 * - `rejected`: no other dialect has it, and the response would have a different meaning without it.
 */
export type FieldDecision = "carried" | "ignored" | "dropped" | RejectedField;

interface RejectedField {
  /** Why, as for `reject`. */
  readonly rejected: string;
  /** Values that are equivalent to leaving the field out. */
  readonly except?: readonly Json[];
  /** Fields of the error that the vendor's SDK acts on. */
  readonly vendor?: VendorError;
}

export type FieldDecisions = Readonly<Record<string, FieldDecision>>;

/** Fields with this decision. */
export const carried = decided("carried");
export const ignored = decided("ignored");
export const dropped = decided("dropped");

function decided<Decision extends FieldDecision>(decision: Decision) {
  return <Name extends string>(...fields: readonly Name[]) =>
    // The names are the keys.
    Object.fromEntries(fields.map((field) => [field, decision])) as Readonly<Record<Name, Decision>>;
}

/** Rejects or reports the fields that cannot be translated. Unknown fields are dropped. Null counts as absent. */
export function decideFields(
  object: JsonObject,
  decisions: FieldDecisions,
  dropped: Pick<DroppedFields, "add">,
  prefix = "",
): void {
  // Parsed JSON has no inherited fields, and `Object.entries` would allocate an array per field.
  for (const field in object) {
    const decision = decisions[field];
    if (decision === "carried" || decision === "ignored") continue;
    const value = object[field];
    if (value === null || value === undefined) continue;
    // A name such as `constructor` is inherited, and decides nothing.
    if (decision === undefined || decision === "dropped" || !Object.hasOwn(decisions, field)) {
      dropped.add(prefix + field);
    } else rejectField(prefix + field, value, decision);
  }
}

/** Decisions for the parts of a list, by their type. */
export type PartDecisions = Readonly<Record<string, FieldDecisions>>;

/** Decides on the fields of each part of a list. Parts of other types are left to their readers as a whole. */
export function decideParts(
  parts: Json | undefined,
  decisions: PartDecisions,
  dropped: DroppedFields,
  typeOf: (part: JsonObject) => Json | undefined = ({ type }) => type,
): void {
  for (const part of listOf(parts)) {
    if (!isObject(part)) continue;
    const type = typeOf(part);
    const fields = typeof type === "string" ? decisions[type] : undefined;
    if (typeof type !== "string" || typeof fields !== "object") continue;
    decideFields(part, fields, dropped, `${type}.`);
  }
}

function rejectField(path: string, value: Json, { rejected, except, vendor }: RejectedField): void {
  if (except?.includes(value) === true) return;
  throw new GatewayError("invalid_request", rejectionText(path, rejected), { param: path, vendor });
}
