import type { TSchema } from "@sinclair/typebox";
import { assert } from "../base/assert.ts";
import { invalidRequest } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { countTokensSchema } from "./anthropic-messages/client/schema.ts";
import type { ValidationOptions } from "./contract/client-dialect.ts";
import { hasMoreValues } from "./json/json-bytes.ts";
import type { TruncatedJson } from "./json/truncate-strings.ts";
import { type MeteredRouteName, meteredRoute, meteredRouteNames } from "./metered/registry.ts";
import type { FormFile, MeteredRoute, RouteBody } from "./metered/route.ts";
import {
  conversationItemsRequest,
  conversationRequest,
  conversationUpdateRequest,
} from "./openai-responses/client/conversation-schema.ts";
import { checkItems } from "./openai-responses/client/input-in.ts";
import { compactRequest, inputTokensRequest } from "./openai-responses/client/schema.ts";
import type { ItemsField } from "./openai-responses/client/turn-items.ts";
import { type ClientDialectName, clientDialect, clientDialectNames } from "./registry.ts";
import { compiled, explain } from "./schema/explain.ts";

/** Requests other than generations, each with the dialect that it is written in. */
const otherRequests = {
  count_tokens: { dialect: "messages", requestSchema: countTokensSchema },
  input_tokens: { dialect: "responses", requestSchema: () => inputTokensRequest },
  compact: { dialect: "responses", requestSchema: () => compactRequest },
  conversation: conversationForm(conversationRequest),
  conversation_items: conversationForm(conversationItemsRequest),
  conversation_update: conversationForm(conversationUpdateRequest),
} as const satisfies Readonly<Record<string, RequestForm>>;

/** What a body is validated as. A string, so that it can be sent to a worker. */
export type RequestKind = ClientDialectName | keyof typeof otherRequests | MeteredRouteName;

function conversationForm(schema: TSchema): RequestForm {
  return {
    dialect: "responses",
    items: "items",
    requestSchema: () => schema,
    check: ({ items }) => checkItems(items, "items"),
  };
}

interface RequestForm {
  readonly dialect: ClientDialectName;
  /** Where a request of the Responses API has its items, if not in `input`. */
  readonly items?: ItemsField | undefined;
  /** Maximum number of token ids, which the limit of members does not count. */
  readonly maxTokenIds?: number | undefined;
  requestSchema(options: ValidationOptions): TSchema;
  /** The files in a JSON request, which a form has as parts. */
  readonly filesIn?: MeteredRoute["filesIn"] | undefined;
  /** Throws `invalid_request` for what the schema cannot express. Works on truncated JSON too. */
  check?(body: JsonObject): void;
}

const forms: ReadonlyMap<string, RequestForm> = new Map<string, RequestForm>([
  ...clientDialectNames.map((dialect) => [dialect, { ...clientDialect(dialect), dialect }] as const),
  ...Object.entries(otherRequests),
  ...meteredRouteNames.map((name) => {
    const { requestSchema, maxTokenIds, filesIn } = meteredRoute(name);
    return [name, { dialect: "chat", requestSchema: () => requestSchema, maxTokenIds, filesIn }] as const;
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

/** Where such a request has the items of a conversation; null if it has none. */
export function itemsFieldOf(kind: RequestKind): ItemsField | null {
  const { dialect, items = "input" } = formOf(kind);
  return dialect === "responses" ? items : null;
}

/** What such a request has in place of a form's files. */
export function filesOf(kind: RequestKind, body: RouteBody): readonly FormFile[] {
  return formOf(kind).filesIn?.(body) ?? [];
}

/** Limits of a body's structure. Its size does not bound that: a list item takes as little as two bytes. */
export interface StructureLimits {
  /** List items and object members, all levels together. */
  readonly maxBodyMembers: number;
  /** For each of `messages`, `input` and `tools`. */
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

export function rejectLongLists(body: JsonObject, { maxListItems }: StructureLimits): void {
  for (const name of ["messages", "input", "tools"]) {
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
