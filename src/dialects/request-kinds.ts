import type { TSchema } from "@sinclair/typebox";
import { assert } from "../base/assert.ts";
import { invalidRequest } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ItemsField, OtherRequest, ValidationOptions } from "./contract/client-dialect.ts";
import { hasMoreValues } from "./json/json-bytes.ts";
import type { TruncatedJson } from "./json/parse-body.ts";
import { type MeteredRouteName, meteredRoute, meteredRouteNames } from "./metered/registry.ts";
import { type FormFile, type MeteredRoute, meteredDialect, type RouteBody } from "./metered/route.ts";
import { turnFields } from "./opening.ts";
import {
  type ClientDialectName,
  clientDialect,
  clientDialectNames,
  type OtherRequestName,
  otherRequests,
} from "./registry.ts";
import { compiled, explain } from "./schema/explain.ts";

/** The schema to validate a body with. A string, so that it can be sent to a worker. */
export type RequestKind = ClientDialectName | OtherRequestName | MeteredRouteName;

interface RequestForm extends Omit<OtherRequest, "counting"> {
  /** The dialect that it is written in. */
  readonly dialect: ClientDialectName;
  /** Maximum number of token ids, which the limit of members does not count. */
  readonly maxTokenIds?: number | undefined;
  /** The files in a JSON request, which a form has as parts. */
  readonly filesIn?: MeteredRoute["filesIn"] | undefined;
  /** Adds what the path says; absent if it says nothing. */
  readonly addPath?: ((body: Uint8Array, path: string) => Uint8Array) | undefined;
}

const forms: ReadonlyMap<string, RequestForm> = new Map<string, RequestForm>([
  ...clientDialectNames.map((dialect) => {
    const own = clientDialect(dialect);
    return [dialect, { ...own, dialect, addPath: own.inPath?.addTo }] as const;
  }),
  ...otherRequests.map((request) => [request.kind, request] as const),
  ...meteredRouteNames.map((name) => {
    const { requestSchema, maxTokenIds, filesIn, inPath } = meteredRoute(name);
    const addPath = inPath?.addTo;
    const form = { dialect: meteredDialect, requestSchema: () => requestSchema } as const;
    return [name, { ...form, maxTokenIds, filesIn, addPath }] as const;
  }),
]);

function formOf(kind: RequestKind): RequestForm {
  const form = forms.get(kind);
  assert(form !== undefined, "unknown kind of request", kind);
  return form;
}

/** The dialect of this kind of request. */
export function dialectOf(kind: RequestKind): ClientDialectName {
  return formOf(kind).dialect;
}

/** What adds to such a body what its path says; null if the body says it all. */
export function pathReader(kind: RequestKind): ((body: Uint8Array, path: string) => Uint8Array) | null {
  return formOf(kind).addPath ?? null;
}

/** The body with what it asks for in fields of its dialect, under the names by which prices are looked up. */
export function askedIn(kind: RequestKind, body: JsonObject): JsonObject {
  const { askedExtras } = clientDialect(dialectOf(kind));
  return askedExtras === undefined ? body : { ...body, ...askedExtras(body) };
}

/** The field with a conversation's items in such a request; null if it has none. */
export function itemsFieldOf(kind: RequestKind): ItemsField | null {
  return formOf(kind).itemsField ?? null;
}

/** The fields of such a request that stand for a form's files. */
export function filesOf(kind: RequestKind, body: RouteBody): readonly FormFile[] {
  return formOf(kind).filesIn?.(body) ?? [];
}

/** Limits of a body's structure. Its size does not bound that: a list item takes as little as two bytes. */
export interface StructureLimits {
  /** List items and object members, all levels together. */
  readonly maxBodyMembers: number;
  /** For the conversation, and for `tools`. */
  readonly maxListItems: number;
}

/** Throws `invalid_request` for a body with more structure than allowed, before it is parsed. */
export function rejectTooManyMembers(
  bytes: Uint8Array,
  truncated: TruncatedJson | null,
  kind: RequestKind,
  { maxBodyMembers }: StructureLimits,
): void {
  const max = Math.max(maxBodyMembers, formOf(kind).maxTokenIds ?? 0);
  if (!hasMoreValues(bytes, truncated, max)) return;
  throw invalidRequest(`The request body has more than ${max} list items and object members. Send fewer.`);
}

const listFields = [...turnFields, "tools"];

export function rejectLongLists(body: JsonObject, { maxListItems }: StructureLimits): void {
  for (const name of listFields) {
    const list = body[name];
    // Numbers are the ids of one text's tokens.
    if (!Array.isArray(list) || list.length <= maxListItems || typeof list[0] === "number") continue;
    throw invalidRequest(
      `\`${name}\` has ${list.length} items, more than the maximum of ${maxListItems}.`,
      name,
    );
  }
}

/** Throws `invalid_request` with the failing field's path; unknown fields pass. Works on truncated JSON too. */
export function validateRequest(kind: RequestKind, body: JsonObject, options: ValidationOptions): void {
  const schema = requestSchemaOf(kind, options);
  if (!compiled(schema).Check(body)) {
    const complaint = explain(schema, body);
    throw invalidRequest(complaint?.message ?? "The request body is not valid.", complaint?.param);
  }
  formOf(kind).check?.(body);
}

export function requestSchemaOf(kind: RequestKind, options: ValidationOptions): TSchema {
  return formOf(kind).requestSchema(options);
}
