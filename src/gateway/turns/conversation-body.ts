import { asBuffer } from "../../base/bytes.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import type { StoredTurn } from "../../store/store.ts";
import {
  type ChangedConversation,
  type ConversationLayout,
  type ItemFrame,
  type KeptTurn,
  plain,
  readTurn,
  storedBytes,
  turnPieces,
} from "./turn-body.ts";
import { type WritePart, writeParts } from "./write-ahead.ts";

type FramedTurn = KeptTurn & { readonly layout: ConversationLayout };

/** What a change writes. */
export interface ConversationPlan {
  readonly kept: ConversationLayout;
  readonly ahead: readonly TurnItem[];
  readonly end: readonly TurnItem[];
  /** Number of bytes that are written. */
  readonly bytes: number;
  /** Size of the conversation after the change, in bytes. */
  readonly allBytes: number;
}

/** The first byte of each frame: bodies as earlier builds wrote them have another. */
const framed = 2;
const lengthBytes = 4;
const frameBytes = 2 * lengthBytes;
const fixedBytes = 1 + lengthBytes;

/** Maximum bytes of items in the end, which is rewritten whenever the conversation changes. Longer ones go to the parts. */
const maxEndBytes = 32 * 1024;

const nothing: ConversationLayout = { recording: null, frames: [], ahead: [] };

/** Everything is written again if an item in the parts was deleted or changed. */
export function planConversation({ head, items, layout = nothing }: ChangedConversation): ConversationPlan {
  const keeps = layout.ahead.every(
    ({ id, raw }, place) => items[place]?.id === id && items[place].raw === raw,
  );
  const kept = keeps ? layout : nothing;
  const rest = items.slice(kept.ahead.length);
  // Without the head: what changes only that moves no items.
  const restBytes = storedBytes({ head: new Uint8Array(), input: rest, output: [] });
  const bytes = head.length + restBytes;
  const sizes = { bytes, allBytes: bytesOf(kept.frames) + bytes };
  return restBytes > maxEndBytes
    ? { kept, ahead: rest, end: [], ...sizes }
    : { kept, ahead: [], end: rest, ...sizes };
}

/** Uses a new recording, so that it cannot collide with what an earlier change wrote. */
export function planWhole(conversation: ChangedConversation): ConversationPlan {
  return planConversation({ ...conversation, layout: undefined });
}

/** Writes the parts before the end. The end is for the row. */
export async function writtenConversation(
  { id, head }: ChangedConversation,
  { kept, ahead, end }: ConversationPlan,
  key: Uint8Array | null,
  write: WritePart,
) {
  const frames = [...kept.frames];
  let { recording } = kept;
  if (ahead.length > 0) {
    const content = { head: new Uint8Array(), input: ahead, output: [] };
    const pieces = marked(turnPieces(aheadContext(id, frames), content, key));
    const written = await writeParts(pieces, write, recording);
    recording = written.recording;
    frames.push({ bytes: written.bytes, items: ahead.length });
  }
  const last = turnPieces(endContext(id, frames), { head, input: end, output: [] }, key);
  const body = Buffer.concat([directoryOf(frames), ...last]);
  return { body, bytes: bytesOf(frames) + body.length, ...(recording && { recording }) };
}

function* marked(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield Buffer.of(framed);
  yield* pieces;
}

/** The encryption context of a frame: it is invalid in another place, or without the frames before it. */
function aheadContext(id: string, before: readonly ItemFrame[]): string {
  return `${id}#ahead#${itemsOf(before)}`;
}

function endContext(id: string, before: readonly ItemFrame[]): string {
  return `${id}#end#${itemsOf(before)}`;
}

function itemsOf(frames: readonly ItemFrame[]): number {
  return frames.reduce((sum, { items }) => sum + items, 0);
}

function bytesOf(frames: readonly ItemFrame[]): number {
  return frames.reduce((sum, { bytes }) => sum + bytes, 0);
}

function directoryOf(frames: readonly ItemFrame[]): Uint8Array {
  const directory = Buffer.alloc(fixedBytes + frames.length * frameBytes);
  directory[0] = framed;
  directory.writeUInt32LE(frames.length, 1);
  for (const [place, { bytes, items }] of frames.entries()) {
    directory.writeUInt32LE(bytes, fixedBytes + place * frameBytes);
    directory.writeUInt32LE(items, fixedBytes + place * frameBytes + lengthBytes);
  }
  return directory;
}

/** Null if the bytes are not an end with frames, e.g. in a body that an earlier build wrote. */
function framesIn(end: Uint8Array, aheadBytes: number): readonly ItemFrame[] | null {
  const bytes = asBuffer(end);
  if (bytes.length < fixedBytes || bytes[0] !== framed) return null;
  const count = bytes.readUInt32LE(1);
  if (bytes.length < fixedBytes + count * frameBytes) return null;
  const frames = Array.from({ length: count }, (_, place) => ({
    bytes: bytes.readUInt32LE(fixedBytes + place * frameBytes),
    items: bytes.readUInt32LE(fixedBytes + place * frameBytes + lengthBytes),
  }));
  return bytesOf(frames) === aheadBytes ? frames : null;
}

/** The whole of it. Null if it was sealed with another key. */
export async function readConversation(stored: StoredTurn, key: Uint8Array | null): Promise<KeptTurn | null> {
  const aheadBytes = stored.body.length - stored.endBytes;
  const end = await openEnd({ ...stored, body: stored.body.subarray(aheadBytes) }, aheadBytes, key);
  if (end === null || stored.body[0] !== framed) return readEarlier(stored, key);
  const { frames } = end.layout;
  const ahead: TurnItem[] = [];
  let isSealed = true;
  let at = 0;
  for (const [place, { bytes }] of frames.entries()) {
    const context = aheadContext(stored.id, frames.slice(0, place));
    const content = await readTurn(context, stored.body.subarray(at + 1, at + bytes), key);
    if (content === null) return null;
    for (const item of content.input) ahead.push(item);
    isSealed &&= stored.body[at + 1] !== plain;
    at += bytes;
  }
  const { layout, ...conversation } = { ...end, input: [...ahead, ...end.input] };
  // What was written before there was a key is encrypted with the next change.
  return key === null || isSealed ? { ...conversation, layout: { ...layout, ahead } } : conversation;
}

/** Its head and the newest items, from its row alone; null if this needs all of it, or it was encrypted with another key. */
export function readEnd(stored: StoredTurn, key: Uint8Array | null): Promise<FramedTurn | null> {
  return openEnd(stored, stored.bytes - stored.body.length, key);
}

async function openEnd(
  { no, id, parentId, recording, body }: StoredTurn,
  aheadBytes: number,
  key: Uint8Array | null,
): Promise<FramedTurn | null> {
  const frames = framesIn(body, aheadBytes);
  if (frames === null) return null;
  const end = body.subarray(fixedBytes + frames.length * frameBytes);
  const content = await readTurn(endContext(id, frames), end, key);
  const layout = { recording, frames, ahead: [] };
  return content && { no, id, parentId, isStored: true, ...content, layout };
}

/** Reads the format of earlier builds, in one piece. */
async function readEarlier(
  { no, id, parentId, body }: StoredTurn,
  key: Uint8Array | null,
): Promise<KeptTurn | null> {
  if (body[0] === framed) return null;
  const content = await readTurn(id, body, key);
  return content && { no, id, parentId, isStored: true, ...content };
}
