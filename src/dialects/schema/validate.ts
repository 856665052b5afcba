import type { TSchema } from "@sinclair/typebox";
import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { countTokensSchema } from "../anthropic-messages/schema.ts";
import type { ValidationOptions } from "../client-dialect.ts";
import { countValues } from "../json/count-values.ts";
import { brokenJson, type Layout, maxDepth, scanTopLevel } from "../json/json-spans.ts";
import { outlineOf } from "../json/truncated-json.ts";
import { type ClientDialectName, clientDialect } from "../registry.ts";
import { compiled } from "./compiled.ts";
import { explain } from "./explain.ts";

/** What a body is to be: a request of a dialect, or one that counts Format B's tokens. A name, so that threads can be told. */
export type RequestKind = ClientDialectName | "count_tokens";

/** How much structure a body may have. Its bytes say little of that: two are enough for an item of a list. */
export interface StructureLimits {
  /** Items of lists and members of objects, at all levels together. */
  readonly maxMembers: number;
  /** Of each of the lists `messages`, `input` and `tools`. */
  readonly maxListItems: number;
}

/** A body that can be worked with: as values to read, and as a map of its bytes to patch (patch.ts). */
export interface ParsedBody {
  /** The body, of whose texts the long ones may be cut short (truncated-json.ts). */
  readonly outline: JsonObject;
  /** How much text was cut, in bytes; 0 when the outline is the whole. */
  readonly cutBytes: number;
  readonly layout: Layout;
  /** The members of all its objects; a name that stands twice counts twice. */
  readonly memberCount: number;
}

/** A byte-order mark is kept and so refused as no JSON: the provider that gets these bytes may refuse it too. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Throws `invalid_request` for what is no JSON object, no UTF-8, nested too deep, or says a governed name
 * twice. The bytes are scanned before they are parsed, because parsing millions of open brackets takes
 * seconds. Names like `__proto__` come out as plain fields.
 */
export function parseBody(bytes: Uint8Array): ParsedBody {
  if (bytes.length === 0) throw invalidRequest("The request body is empty; send a JSON object.");
  const outline = outlineOf(bytes, maxDepth);
  if (outline === null) {
    const tally = { members: 0 };
    const layout = scanTopLevel(bytes, [], tally);
    const memberCount = layout.memberCount + tally.members;
    return { outline: parseWhole(bytes), cutBytes: 0, layout, memberCount };
  }
  const { cutBytes, nested, memberCount } = outline;
  const layout = scanTopLevel(bytes, nested);
  return { outline: parseWhole(outline.bytes), cutBytes, layout, memberCount };
}

/** Throws `invalid_request` for a body with more structure than allowed, before anybody parses it. */
export function refuseTooManyMembers(bytes: Uint8Array, { maxMembers }: StructureLimits): void {
  if (countValues(bytes, maxMembers) <= maxMembers) return;
  throw invalidRequest(
    `The request body has more than ${maxMembers} items of lists and members of objects; send fewer.`,
  );
}

export function refuseLongLists(body: JsonObject, { maxListItems }: StructureLimits): void {
  for (const name of ["messages", "input", "tools"]) {
    const list = body[name];
    if (!Array.isArray(list) || list.length <= maxListItems) continue;
    throw invalidRequest(`\`${name}\` has ${list.length} items; send ${maxListItems} at most.`, name);
  }
}

/** With all of its texts. The scan has seen an opening brace, so what parses is an object. */
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

/** Throws `invalid_request` with the failing field's path; unknown fields pass. An outline is as good as the whole. */
export function validateRequest(kind: RequestKind, body: JsonObject, options: ValidationOptions): void {
  const schema = schemaOf(kind, options);
  if (compiled(schema).Check(body)) return;
  const complaint = explain(schema, body);
  throw invalidRequest(complaint?.message ?? "The request body is not valid.", complaint?.param);
}

function schemaOf(kind: RequestKind, options: ValidationOptions): TSchema {
  return kind === "count_tokens" ? countTokensSchema(options) : clientDialect(kind).requestSchema(options);
}
