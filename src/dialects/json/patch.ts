import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { openBrace, skipSpace } from "./json-bytes.ts";
import { type GovernedName, type JsonSpans, type Member, scanObject } from "./json-spans.ts";

/** The members to set, by name; `undefined` removes the member. `service_tier` is only set where the body has none. */
export type BodyChanges = { readonly [Name in GovernedName | "service_tier"]?: Json | undefined };

/** Changes to any members of the top-level object; `undefined` removes one. */
export type MemberChanges = Readonly<Record<string, Json | undefined>>;

/** A span of the body and its replacement. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string | readonly Uint8Array[];
}

/** The body with some members set or removed. All other bytes stay unchanged. */
export function patchBody(bytes: Uint8Array, spans: JsonSpans, changes: BodyChanges): Uint8Array {
  return isNothing(changes) ? bytes : patchMembers(bytes, changes, spans);
}

/** The patched body in pieces: joining a large body takes long. */
export function patchedPieces(
  bytes: Uint8Array,
  spans: JsonSpans,
  changes: BodyChanges,
): readonly Uint8Array[] {
  return editedPieces(bytes, editMembers(bytes, spans, changes));
}

/** True for most bodies. Does not allocate, unlike listing the names. */
function isNothing(changes: BodyChanges): boolean {
  for (const _ in changes) return false;
  return true;
}

/** Changes any members of the top-level object and scans it for them if `spans` is absent. Throws if it is malformed. */
export function patchMembers(
  bytes: Uint8Array,
  changes: MemberChanges,
  spans = scanObject(bytes, skipSpace(bytes, 0), Object.keys(changes)),
): Uint8Array {
  const edits = editMembers(bytes, spans, changes);
  return edits.length === 0 ? bytes : applyEdits(bytes, edits);
}

function editMembers(bytes: Uint8Array, spans: JsonSpans, changes: MemberChanges): Edit[] {
  const edits: Edit[] = [];
  let inserted = "";
  let removedCount = 0;
  for (const member of spans.members) {
    if (!Object.hasOwn(changes, member.name)) continue;
    const value = changes[member.name];
    if (value === undefined) {
      edits.push(removal(member, member.position > removedCount));
      removedCount += 1;
    } else {
      edits.push(...editsTo(bytes, member, value));
    }
  }
  for (const name of Object.keys(changes)) {
    const value = changes[name];
    if (value === undefined || spans.members.some((member) => member.name === name)) continue;
    inserted += `${inserted === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  if (inserted !== "") {
    const text = spans.memberCount > removedCount ? `${inserted},` : inserted;
    edits.push({ from: spans.openedAt + 1, to: spans.openedAt + 1, text });
  }
  return edits;
}

/** A change has only the members to set in them: their schemas are long, and truncated where it is decided. */
const mergedNames = ["generationConfig", "generation_config"] as const satisfies readonly GovernedName[];

function editsTo(bytes: Uint8Array, { name, valueStart, end }: Member, value: Json): Edit[] {
  const isMerged = mergedNames.some((merged) => merged === name) && bytes[valueStart] === openBrace;
  if (!isMerged || !isObject(value)) return [{ from: valueStart, to: end, text: JSON.stringify(value) }];
  return editMembers(bytes, scanObject(bytes, valueStart, Object.keys(value)), value);
}

/** A parsed body with these changes. */
export function changedBody(body: JsonObject, changes: BodyChanges): JsonObject {
  const changed: JsonObject = { ...body, ...changes };
  for (const name of mergedNames) {
    const { [name]: before } = body;
    const { [name]: members } = changes;
    if (isObject(before) && isObject(members)) changed[name] = { ...before, ...members };
  }
  return changed;
}

/** A member of an object, or an item of a list. */
export type Removable = Pick<Member, "start" | "end" | "commaBefore" | "commaAfter">;

/** Removes one comma as well: the one before the member if a member before it is kept, else the one after it. */
export function removal(member: Removable, somethingKeptBefore: boolean): Edit {
  if (somethingKeptBefore) return { from: member.commaBefore, to: member.end, text: "" };
  const to = member.commaAfter === -1 ? member.end : member.commaAfter + 1;
  return { from: member.start, to, text: "" };
}

const encoder = new TextEncoder();

export function applyEdits(bytes: Uint8Array, edits: Edit[]): Uint8Array {
  return Buffer.concat(editedPieces(bytes, edits));
}

/** The edited body in pieces: joining a large one takes long. */
export function editedPieces(bytes: Uint8Array, edits: Edit[]): Uint8Array[] {
  // An insertion may be at the start of a removal; its empty span sorts it first.
  edits.sort((a, b) => a.from - b.from || a.to - b.to);
  const pieces: Uint8Array[] = [];
  let read = 0;
  for (const edit of edits) {
    pieces.push(bytes.subarray(read, edit.from));
    if (typeof edit.text === "string") pieces.push(encoder.encode(edit.text));
    else for (const piece of edit.text) pieces.push(piece);
    read = edit.to;
  }
  pieces.push(bytes.subarray(read));
  return pieces;
}
