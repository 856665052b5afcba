import { asBuffer, lengthOf } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { decrypting, type Encryption, encrypting, PartDecryption } from "../../base/secrets/encrypt.ts";
import {
  endedResponse,
  inputItems,
  type TurnItem,
} from "../../dialects/openai-responses/client/turn-items.ts";
import type { Recording } from "../../store/store.ts";
import { identifiedInput } from "./item-ids.ts";

/** The stored parts of a turn. */
export interface Turn {
  readonly id: string;
  readonly parentId: string | null;
  /** The JSON of the response without its output. */
  readonly head: Uint8Array;
  /** The new items of its input. Every item has an id, if necessary one that was created here. */
  readonly input: readonly TurnItem[];
  readonly output: readonly TurnItem[];
  /** Else only its connection remembers it. */
  readonly isStored: boolean;
}

/**
 * A conversation that a client has named is stored in frames, each with some of its items. Frames in parts are never
 * rewritten; the end is the row, with the head and the newest items. So a change writes only the end and the new items.
 */
export interface ItemFrame {
  readonly bytes: number;
  readonly items: number;
}

/** The storage layout of a conversation's items. */
export interface ConversationLayout {
  /** Null if all items are in its end. */
  readonly recording: Recording | null;
  /** The frames in the parts of the recording. */
  readonly frames: readonly ItemFrame[];
  /** The items in these parts, if they were read. */
  readonly ahead: readonly TurnItem[];
}

/** A stored turn. */
export interface KeptTurn extends Turn {
  /** Changes whenever a turn replaces another with the same id. */
  readonly no: number;
  /** The storage layout; absent if its next change rewrites all of it. */
  readonly layout?: ConversationLayout;
}

/** A conversation that a client has named, after a change. */
export interface ChangedConversation {
  readonly id: string;
  /** The number of what it was before; null if it is new. */
  readonly no: number | null;
  /** The JSON that clients are shown of it. */
  readonly head: Uint8Array;
  /** All that are not in `layout` or were read from there. */
  readonly items: readonly TurnItem[];
  /** The storage layout of its items. */
  readonly layout?: ConversationLayout | undefined;
}

/** A request that can be stored verbatim. */
export interface VerbatimRequest {
  readonly bytes: Uint8Array;
  /** The ids of the input items that have one. */
  readonly itemIds: readonly string[];
  /** Whether some of its items have no id. */
  readonly hasUnnamed: boolean;
}

/** Facts about a turn before its response. */
export interface TurnInMaking {
  /** The response or the conversation that it continues. */
  readonly parentId: string | null;
  /** Whether it is stored, and added to its conversation; else only its connection remembers it. */
  readonly isStored: boolean;
  /** Whether its provider stores it, if the provider can and is asked to continue it. */
  readonly isProviders: boolean;
  /** Whether the output replaces the conversation. If the output has no compaction, nothing is stored. */
  readonly isCompacted: boolean;
  /** The conversation that it continues. */
  readonly before: readonly Turn[];
  /** The new items of its input. */
  input(): readonly TurnItem[];
  /** The request, if all of its input is new and it can be stored verbatim; absent if it has to be split. */
  readonly request?: VerbatimRequest | undefined;
  /** The conversation that it belongs to, with the items that stay before it. Absent if it belongs to none. */
  readonly conversation?: ChangedConversation | undefined;
}

/** The conversations that a connection remembers, whether or not they are stored. */
export interface RememberedTurns {
  /** A response and all that it continues, oldest first; null if it is not remembered. */
  chain(id: string): readonly Turn[] | null;
  /** Adds the chain of a response that is about to end. */
  remember(chain: readonly Turn[]): void;
}

type TurnContent = Pick<Turn, "head" | "input" | "output">;

/** A turn's content before it is split into items. */
interface VerbatimContent {
  readonly request: Uint8Array;
  readonly response: Uint8Array;
  /** In the notation of an index. */
  readonly group: string | null;
}

/** The first byte of a body. */
export const plain = 0;
const encrypted = 1;

const lengthBytes = 4;

/** An item with its length instead of its bytes. Most have none of the last three fields. */
type IndexEntry = readonly [
  bytes: number,
  type: string,
  id?: string | null,
  callId?: string | null,
  isLeftOut?: 0 | 1,
];

interface Index {
  readonly head: number;
  /** The common beginning of the ids of input items without their own; absent if the turn's id determines it. */
  readonly group?: string | undefined;
  readonly input: readonly IndexEntry[];
  readonly output: readonly IndexEntry[];
}

/** The length of the request of a turn that is stored verbatim. Its response is the rest. */
interface VerbatimIndex extends Pick<Index, "group"> {
  readonly request: number;
}

/** The pieces of a turn's body. With a group, the items of its input that have no id get theirs from it. */
export function turnPieces(
  id: string,
  content: TurnContent,
  key: Uint8Array | null,
  group: string | null = null,
): Iterable<Uint8Array> {
  return bodyPieces(id, contentPieces(content, group), key);
}

/** The body of a turn whose request and response are stored verbatim in one piece, to be split when they are read. */
export function verbatimBody(
  id: string,
  { request, response, group }: VerbatimContent,
  key: Uint8Array | null,
): Uint8Array {
  const index: VerbatimIndex = { request: request.length, group: group ?? undefined };
  return Buffer.concat([...bodyPieces(id, [indexPiece(index), request, response], key)]);
}

export function bodyPieces(
  id: string,
  pieces: readonly Uint8Array[],
  key: Uint8Array | null,
): Iterable<Uint8Array> {
  // Bound to its id: a body that was copied to another row cannot be decrypted.
  return key === null ? [plainMark, ...pieces] : encrypting(pieces, { key, context: id, version: encrypted });
}

const plainMark = Buffer.of(plain);

/** Number of bytes of the body with this content; encryption adds a few. */
export function storedBytes(content: TurnContent): number {
  return plainMark.length + lengthOf(contentPieces(content));
}

/** An index, so that a long conversation can be assembled without parsing it, followed by the bytes of all parts. */
function contentPieces(
  { head, input, output }: TurnContent,
  group: string | null = null,
): readonly Uint8Array[] {
  const index: Index = {
    head: head.length,
    group: group ?? undefined,
    input: input.map(entryOf),
    output: output.map(entryOf),
  };
  const pieces: Uint8Array[] = [indexPiece(index), head];
  for (const { raw } of input) pieces.push(raw);
  for (const { raw } of output) pieces.push(raw);
  return pieces;
}

function indexPiece(index: Index | VerbatimIndex): Uint8Array {
  const bytes = Buffer.from("".padEnd(lengthBytes) + JSON.stringify(index));
  bytes.writeUInt32LE(bytes.length - lengthBytes);
  return bytes;
}

function entryOf({ id, type, callId, raw, isLeftOut }: TurnItem): IndexEntry {
  if (isLeftOut) return [raw.length, type, id, callId, 1];
  if (callId !== null) return [raw.length, type, id, callId];
  return id === null ? [raw.length, type] : [raw.length, type, id];
}

/** A copy of the turn: the bytes that it was read from are released once they are sent. */
export function copyTurn({ head, input, output, ...turn }: Turn): Turn {
  const copied = (item: TurnItem) => ({ ...item, raw: new Uint8Array(item.raw) });
  return { ...turn, head: new Uint8Array(head), input: input.map(copied), output: output.map(copied) };
}

/** Null if it was encrypted with another key. */
export async function readTurn(
  id: string,
  body: Uint8Array,
  key: Uint8Array | null,
): Promise<TurnContent | null> {
  const content = await openBody(id, body, key);
  return content && contentIn(id, content);
}

/** The content of these pieces. Null if it was encrypted with another key, or in another place. */
export async function openBody(
  id: string,
  body: Uint8Array,
  key: Uint8Array | null,
): Promise<Uint8Array | null> {
  if (body[0] === plain) return body.subarray(1);
  if (key === null) return null;
  const steps = decrypting(body, { key, context: id, version: encrypted });
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await bodyPacer.wait();
  return step.value;
}

/** Reads the parts of a stored body. Null if one is missing. */
type ReadParts = () => Promise<AsyncIterable<Uint8Array> | null>;

/** As `openBody`, part by part: an encrypted body is read twice, because its end shows whether it can be opened. */
export async function openInParts(
  id: string,
  read: ReadParts,
  key: Uint8Array | null,
): Promise<AsyncIterable<Uint8Array> | null> {
  const encryption = { key: key ?? noKey, context: id, version: encrypted };
  const looked = await read();
  if (looked === null || !(await canOpen(looked, encryption))) return null;
  const parts = await read();
  return parts && openedParts(parts, encryption);
}

const noKey = new Uint8Array(32);

async function canOpen(parts: AsyncIterable<Uint8Array>, encryption: Encryption): Promise<boolean> {
  const decryption = new PartDecryption(encryption);
  let isFirst = true;
  for await (const part of parts) {
    if (isFirst && part[0] === plain) return true;
    isFirst = false;
    decryption.push(part);
  }
  return decryption.isWhole();
}

async function* openedParts(
  parts: AsyncIterable<Uint8Array>,
  encryption: Encryption,
): AsyncGenerator<Uint8Array> {
  const decryption = new PartDecryption(encryption);
  let isPlain: boolean | null = null;
  for await (const part of parts) {
    const isFirst = isPlain === null;
    isPlain ??= part[0] === plain;
    if (isPlain) yield isFirst ? part.subarray(1) : part;
    else yield decryption.push(part);
  }
}

function contentIn(id: string, content: Uint8Array): TurnContent | null {
  const bytes = asBuffer(content);
  const indexEnd = lengthBytes + bytes.readUInt32LE(0);
  const index: Index | VerbatimIndex = JSON.parse(bytes.toString("utf8", lengthBytes, indexEnd));
  const rest = bytes.subarray(indexEnd);
  if (!("request" in index)) return indexedContent(id, index, rest);
  const { request: length, group = null } = index;
  return splitContent(id, { request: rest.subarray(0, length), response: rest.subarray(length), group });
}

/** Null if the provider has written the response in a way that cannot be split: a name twice, for example. */
export function splitContent(id: string, { request, response, group }: VerbatimContent): TurnContent | null {
  try {
    const ended = endedResponse(response);
    const input = inputItems(request, "input");
    return ended && { head: ended.head, input: identifiedInput(id, input, group), output: ended.output };
  } catch (error) {
    if (error instanceof GatewayError || error instanceof SyntaxError) return null;
    throw error;
  }
}

function indexedContent(id: string, index: Index, bytes: Buffer): TurnContent {
  let at = 0;
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const itemOf = ([length, type, id = null, callId = null, isLeftOut = 0]: IndexEntry): TurnItem => ({
    raw: take(length),
    id,
    type,
    callId,
    isLeftOut: isLeftOut === 1,
  });
  const head = take(index.head);
  const input = identifiedInput(id, index.input.map(itemOf), index.group ?? null);
  return { head, input, output: index.output.map(itemOf) };
}
