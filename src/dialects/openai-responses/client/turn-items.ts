import { asBuffer } from "../../../base/bytes.ts";
import { GatewayError } from "../../../base/errors.ts";
import { isConversationId } from "../../../base/id.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ItemsField } from "../../contract/client-dialect.ts";
import {
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "../../json/json-bytes.ts";
import { brokenJson, type JsonSpans, type Member, scanObject } from "../../json/json-spans.ts";
import { type Edit, editedPieces, type MemberChanges, patchMembers, removal } from "../../json/patch.ts";
import type { EndedIds } from "../../provider-response/stream-reader.ts";
import { SseDecoder } from "../../sse/sse.ts";
import { eventType } from "../event-type.ts";

/** An item of a conversation in the bytes in which it was sent, and what the gateway has to know of it. */
export interface TurnItem {
  readonly raw: Uint8Array;
  readonly id: string | null;
  readonly type: string;
  readonly callId: string | null;
  /** Reasoning that only the provider that keeps it could look up. It is shown, but not sent again. */
  readonly isLeftOut: boolean;
}

export function sizeOf(items: readonly TurnItem[]): number {
  return items.reduce((sum, { raw }) => sum + raw.length, 0);
}

const encoder = new TextEncoder();

/** The items of a request. A text is one message of the user. */
export function inputItems(body: Uint8Array, field: ItemsField): readonly TurnItem[] {
  const input = fieldOf(body, field);
  if (input === undefined) return [];
  if (body[input.valueStart] === openBracket) return listedItems(body, input.valueStart);
  if (body[input.valueStart] !== quote) return [];
  const raw = Buffer.concat([beforeText, body.subarray(input.valueStart, input.end), afterText]);
  return [{ raw, id: null, type: "message", callId: null, isLeftOut: false }];
}

const beforeText = encoder.encode('{"type":"message","role":"user","content":[{"type":"input_text","text":');
const afterText = encoder.encode("}]}");

/** An item by its place in a request. */
export interface ItemSpan extends Omit<TurnItem, "raw"> {
  readonly start: number;
  readonly end: number;
}

/** The positions of a request's items, for another thread; null if it has no list of items. */
export function inputSpans(body: Uint8Array, field: ItemsField): readonly ItemSpan[] | null {
  const input = fieldOf(body, field);
  if (input === undefined || body[input.valueStart] !== openBracket) return null;
  return listedItems(body, input.valueStart).map(({ raw, ...item }) => {
    const start = raw.byteOffset - body.byteOffset;
    return { ...item, start, end: start + raw.length };
  });
}

export function itemsAt(body: Uint8Array, spans: readonly ItemSpan[]): readonly TurnItem[] {
  return spans.map(({ start, end, ...item }) => ({ ...item, raw: body.subarray(start, end) }));
}

function fieldOf(body: Uint8Array, field: ItemsField): Member | undefined {
  return memberOf(scanObject(body, skipSpace(body, 0), [field]), field);
}

/** Each item is scanned once, for its end and for what describes it. */
function listedItems(list: Uint8Array, openedAt: number): readonly TurnItem[] {
  const bytes = asBuffer(list);
  const items: TurnItem[] = [];
  let at = skipSpace(bytes, openedAt + 1);
  while (bytes[at] !== closeBracket) {
    const spans = scanObject(bytes, at, describing);
    items.push(itemOf(bytes, spans));
    at = skipSpace(bytes, spans.end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1);
    else if (bytes[at] !== closeBracket) throw brokenJson();
  }
  return items;
}

const describing = ["id", "type", "role", "call_id", "encrypted_content"];

export function describeItem(raw: Uint8Array): TurnItem {
  return itemOf(raw, scanObject(raw, 0, describing));
}

function itemOf(bytes: Uint8Array, spans: JsonSpans): TurnItem {
  const type =
    textIn(bytes, spans, "type") ?? (textIn(bytes, spans, "role") === null ? "item_reference" : "message");
  const isLeftOut = type === "reasoning" && textIn(bytes, spans, "encrypted_content") === null;
  const raw = bytes.subarray(spans.openedAt, spans.end);
  const id = textIn(bytes, spans, "id");
  return { raw, id, type, callId: textIn(bytes, spans, "call_id"), isLeftOut };
}

/** The role of a message. The item is not parsed: it may be long. */
export function roleOf({ raw }: TurnItem): string | null {
  return textIn(raw, scanObject(raw, 0, ["role"]), "role");
}

/** Null if there is none. */
function textIn(raw: Uint8Array, spans: JsonSpans, name: string): string | null {
  const member = memberOf(spans, name);
  const value = member === undefined ? null : parsedValue(raw, member);
  return typeof value === "string" && value !== "" ? value : null;
}

/** The members of a request that name what it continues: a response, or a conversation. */
export type NamingField = "previous_response_id" | "conversation";

/**
 * The pieces of the request with these items as its input and, if they are the whole conversation, without the member
 * that names what it continues. All other bytes stay unchanged.
 */
export function withInput(
  body: Uint8Array,
  items: readonly TurnItem[],
  naming: NamingField | null,
): readonly Uint8Array[] {
  const { members } = scanObject(body, skipSpace(body, 0), naming === null ? ["input"] : ["input", naming]);
  const list = listPieces(items);
  const edits: Edit[] = members.map((member) =>
    member.name === "input"
      ? { from: member.valueStart, to: member.end, text: list }
      : removal(member, member.position > 0),
  );
  if (memberOf({ members }, "input") === undefined) {
    const first = skipSpace(body, 0) + 1;
    // A request has a model, so that a member follows.
    edits.push({ from: first, to: first, text: [inputName, ...list, between] });
  }
  return editedPieces(body, edits);
}

function listPieces(items: readonly TurnItem[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [open];
  for (const [index, { raw }] of items.entries()) {
    if (index > 0) pieces.push(between);
    pieces.push(raw);
  }
  pieces.push(close);
  return pieces;
}

const inputName = encoder.encode('"input":');
const open = encoder.encode("[");
const between = encoder.encode(",");
const close = encoder.encode("]");

/** A response that has ended, without its items. */
export interface EndedResponse {
  readonly id: string;
  /** The JSON of all other fields, as the provider has written them. */
  readonly head: Uint8Array;
  readonly output: readonly TurnItem[];
}

/** The ids in a non-streaming response that is already parsed; null if it has not ended. */
export function endedIds({ id, status, output }: JsonObject): EndedIds | null {
  if (typeof id !== "string" || !kept.has(status ?? null) || !Array.isArray(output)) return null;
  return { id, items: itemIds(output) };
}

/** The ids of parsed items that have one. */
export function itemIds(items: readonly Json[]): readonly string[] {
  const ids: string[] = [];
  for (const item of items) {
    const id = isObject(item) ? item["id"] : null;
    if (typeof id === "string" && id !== "") ids.push(id);
  }
  return ids;
}

/** The part of a stream before its end. */
interface StreamedOutput {
  /** Null if it is too much to be kept. */
  all(): readonly TurnItem[] | null;
}

const kept: ReadonlySet<Json> = new Set(["completed", "incomplete"]);

/** The JSON of a response in its stored form, whatever its status. */
export function anyResponse(response: Uint8Array, id: string): EndedResponse {
  const spans = scanObject(response, skipSpace(response, 0), ["output"]);
  const output = outputItems(response, memberOf(spans, "output"), undefined) ?? [];
  return { id, head: patchMembers(response, { output: undefined }, spans), output };
}

/** Fields of a response that name the response or conversation that it continues. */
export function continuedFields(parentId: string | null): JsonObject {
  if (parentId === null || !isConversationId(parentId)) return { previous_response_id: parentId };
  return { previous_response_id: null, conversation: { id: parentId } };
}

/**
 * The response object in the client's response: the whole body, or the events that end a stream. Null if it failed or
 * is not a response. A stream can end with a response that has none of the streamed items.
 */
export function endedResponse(answer: Uint8Array, streamed?: StreamedOutput): EndedResponse | null {
  const bytes = responseIn(answer);
  if (bytes === null) return null;
  const spans = scanObject(bytes, 0, ["id", "status", "output"]);
  const [id, status, listed] = ["id", "status", "output"].map((name) => memberOf(spans, name));
  if (id === undefined || status === undefined) return null;
  const responseId = parsedValue(bytes, id);
  if (typeof responseId !== "string" || !kept.has(parsedValue(bytes, status))) return null;
  const output = outputItems(bytes, listed, streamed);
  return output && { id: responseId, head: patchMembers(bytes, { output: undefined }, spans), output };
}

function outputItems(
  response: Uint8Array,
  listed: Member | undefined,
  streamed: StreamedOutput | undefined,
): readonly TurnItem[] | null {
  const isList = listed !== undefined && response[listed.valueStart] === openBracket;
  const items = isList ? listedItems(response, listed.valueStart) : [];
  if (items.length > 0 || streamed === undefined) return isList ? items : null;
  return streamed.all();
}

/** Sets members of a response. Bytes without a finished, readable response are returned unchanged. */
export function withMembers(answer: Uint8Array, changes: MemberChanges): Uint8Array {
  try {
    const response = responseIn(answer);
    const place = response === null ? -1 : asBuffer(answer).indexOf(response);
    if (response === null || place === -1) return answer;
    const patched = patchMembers(response, changes);
    return Buffer.concat([answer.subarray(0, place), patched, answer.subarray(place + response.length)]);
  } catch (error) {
    // A provider's JSON is scanned as strictly as a client's.
    if (error instanceof GatewayError || error instanceof SyntaxError) return answer;
    throw error;
  }
}

function responseIn(answer: Uint8Array): Uint8Array | null {
  const start = skipSpace(answer, 0);
  if (answer[start] === openBrace) return answer.subarray(start);
  const decoder = new SseDecoder();
  for (const { data } of [...decoder.push(answer), ...decoder.end()]) {
    if (!keptEnds.has(eventType(data))) continue;
    const event = encoder.encode(data);
    const response = memberOf(scanObject(event, skipSpace(event, 0), ["response"]), "response");
    if (response !== undefined) return event.subarray(response.valueStart, response.end);
  }
  return null;
}

const keptEnds: ReadonlySet<Json | undefined> = new Set(["response.completed", "response.incomplete"]);

/** The pieces of the stored response: it continues `parentId`. */
export function responsePieces(
  head: Uint8Array,
  output: readonly TurnItem[],
  parentId: string | null,
): readonly Uint8Array[] {
  const shown = patchMembers(head, { store: true, ...continuedFields(parentId) });
  const end = shown.lastIndexOf(closeBrace);
  return [shown.subarray(0, end), outputName, ...listPieces(output), shown.subarray(end)];
}

const outputName = encoder.encode(',"output":');

export function memberOf({ members }: Pick<JsonSpans, "members">, name: string): Member | undefined {
  for (const member of members) if (member.name === name) return member;
  return undefined;
}

/** Most values are texts without escapes, which need no parsing. */
export function parsedValue(bytes: Uint8Array, { valueStart, end }: Member): Json {
  const json = asBuffer(bytes).toString("utf8", valueStart, end);
  return bytes[valueStart] === quote && !json.includes("\\") ? json.slice(1, -1) : JSON.parse(json);
}
