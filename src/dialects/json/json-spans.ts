import { invalidRequest } from "../../base/errors.ts";
import {
  backslash,
  closeBrace,
  colon,
  comma,
  endOfString,
  type MemberTally,
  notJson,
  openBrace,
  quote,
  skipSpace,
  skipValue,
  tooDeep,
} from "./json-bytes.ts";

export interface Span {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * The byte positions of the members that the gateway may have to change. A passthrough body is never serialized again
 * from its parsed form, because that would change number formats, duplicate names and white space; a few spans
 * are replaced instead (patch.ts).
 */
export interface JsonSpans {
  /** The index of the opening brace. */
  readonly openedAt: number;
  /** The index after the closing one. */
  readonly end: number;
  /** Counts all members, including those not listed in `members`. */
  readonly memberCount: number;
  readonly members: readonly Member[];
}

export interface Member {
  readonly name: string;
  /** Its index among all members. */
  readonly position: number;
  /** The index of the quote before the name. */
  readonly start: number;
  readonly valueStart: number;
  /** Exclusive. */
  readonly end: number;
  /** The index of the comma before the member, or -1. */
  readonly commaBefore: number;
  /** The index of the comma after the member, or -1. */
  readonly commaAfter: number;
}

/**
 * Members that the gateway reads and can set. With a duplicate, a provider could read a different value than the one
 * checked here.
 */
export const governedNames = [
  ...(["n", "model", "store", "tools", "stream", "include", "thinking", "background"] as const),
  ...(["max_tokens", "stream_options", "max_tool_calls", "max_output_tokens"] as const),
  ...(["max_completion_tokens", "generationConfig", "generation_config"] as const),
] as const;

export type GovernedName = (typeof governedNames)[number];

export const maxDepth = 64;

const noneKnown: readonly Span[] = [];

/**
 * Finds the governed members of the body's top-level object; throws a 400 if it is malformed. The `known` spans of
 * nested objects and arrays are skipped without being scanned again.
 */
export function scanTopLevel(
  bytes: Uint8Array,
  known: readonly Span[] = noneKnown,
  nested: MemberTally = { members: 0 },
): JsonSpans {
  return scanObject(bytes, skipSpace(bytes, 0), governedNames, known, nested);
}

/** Finds the members of an object inside the body, such as `stream_options`. `nested` counts the members of objects within it. */
export function scanObject(
  bytes: Uint8Array,
  openedAt: number,
  names: readonly string[],
  known: readonly Span[] = noneKnown,
  nested: MemberTally = { members: 0 },
): JsonSpans {
  if (bytes[openedAt] !== openBrace) throw invalidRequest("The request body must be a JSON object.");
  const members: Member[] = [];
  let position = 0;
  let passed = 0;
  let commaBefore = -1;
  let at = skipSpace(bytes, openedAt + 1);
  if (bytes[at] === closeBrace) return { openedAt, end: at + 1, memberCount: 0, members };
  for (;;) {
    const start = at;
    const nameEnd = bytes[start] === quote ? endOfString(bytes, start) : notJson;
    if (nameEnd === notJson) throw brokenJson();
    at = skipSpace(bytes, nameEnd + 1);
    if (bytes[at] !== colon) throw brokenJson();
    const valueStart = skipSpace(bytes, at + 1);
    const span = known[passed];
    if (span?.start === valueStart) passed += 1;
    const end = span?.start === valueStart ? span.end : endOfValue(bytes, valueStart, nested);
    at = skipSpace(bytes, end);
    const commaAfter = bytes[at] === comma ? at : -1;
    const name = nameAmong(names, bytes, start + 1, nameEnd);
    if (name !== undefined) {
      rejectDuplicate(members, name);
      members.push({ name, position, start, valueStart, end, commaBefore, commaAfter });
    }
    position += 1;
    if (commaAfter === -1) break;
    commaBefore = commaAfter;
    at = skipSpace(bytes, commaAfter + 1);
  }
  if (bytes[at] !== closeBrace) throw brokenJson();
  return { openedAt, end: at + 1, memberCount: position, members };
}

function endOfValue(bytes: Uint8Array, start: number, nested: MemberTally): number {
  const end = skipValue(bytes, start, maxDepth - 1, nested);
  if (end === tooDeep) throw invalidRequest(`The request body is nested more than ${maxDepth} levels deep.`);
  if (end === notJson) throw brokenJson();
  return end;
}

function rejectDuplicate(members: readonly Member[], name: string): void {
  for (const member of members) {
    if (member.name === name) throw invalidRequest(`\`${name}\` is set twice. Send it once.`, name);
  }
}

export function brokenJson(): Error {
  return invalidRequest(
    "The request body is not valid JSON. Look for a missing quote, a trailing comma or NaN.",
  );
}

/** The name at these bytes if it is one of `names`. Avoids allocating a string for every name in the body. */
function nameAmong(
  names: readonly string[],
  bytes: Uint8Array,
  from: number,
  to: number,
): string | undefined {
  for (let at = from; at < to; at += 1) {
    if (bytes[at] === backslash) return escapedNameAmong(names, bytes, from, to);
  }
  for (const name of names) {
    if (name.length === to - from && isNameAt(name, bytes, from)) return name;
  }
  return undefined;
}

function isNameAt(name: string, bytes: Uint8Array, from: number): boolean {
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[from + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** Every parser reads `"mod\u0065l"` as `model`, so this one has to as well. */
function escapedNameAmong(
  names: readonly string[],
  bytes: Uint8Array,
  from: number,
  to: number,
): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(from - 1, to + 1));
  try {
    const name: unknown = JSON.parse(text);
    return names.find((candidate) => candidate === name);
  } catch {
    throw brokenJson();
  }
}
