import { asBuffer } from "../../base/bytes/as-buffer.ts";
import { idKey, newId } from "../../base/id.ts";
import { isPlainSegment } from "../../base/requests/path-segment.ts";
import { patchMembers } from "../../dialects/json/patch.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";

/**
 * Items without an id get one. Those of a turn begin alike, so that one row finds all of them: rows for ten thousand would
 * delay the charges of others.
 */
const mintedPrefix = "item_";
const timeChars = 8;
const placeChars = 6;

/** Of a turn with more items that have ids of their own, the newest can be found. */
const mostFound = 2000;

/** What the ids that are made for a turn begin with: with the time, as OpenAI's do (see `idKey`). */
export function newGroup(): string {
  const time = Date.now().toString(36).padStart(timeChars, "0");
  return mintedPrefix + time + newId("").slice(timeChars + placeChars);
}

/** With ids for the items that have none, by their places. */
export function withMintedIds(items: readonly TurnItem[], group: string): readonly TurnItem[] {
  return items.map((item, place) => (item.id === null ? { ...item, id: mintedId(group, place) } : item));
}

function mintedId(group: string, place: number): string {
  return group + place.toString(36).padStart(placeChars, "0");
}

const minted = /^item_[0-9a-zA-Z]{22}$/;

/** Whether a request may have an item under an id that was made here; spares most requests a closer look. */
export function mayHaveMinted(body: Uint8Array): boolean {
  return asBuffer(body).includes(`"${mintedPrefix}`);
}

export function isMinted({ type, id }: TurnItem): boolean {
  return id !== null && minted.test(id) && type !== "item_reference";
}

/** As it came without an id. A provider refuses ids that do not begin as its own do. */
export function withoutMinted(item: TurnItem): TurnItem {
  return isMinted(item) ? { ...item, raw: patchMembers(item.raw, { id: undefined }) } : item;
}

/** In characters, each of which may take nine in a path. */
const longestId = 512;

/** Whether it can be asked for by its id, which is then a segment of a path. */
export function isAddressable({ id }: TurnItem): boolean {
  return id === null || (id.length <= longestId && isPlainSegment(id));
}

/** Each with an id that it can be asked for by, and that no other has: some servers give all their items the same. */
export function identified(items: readonly TurnItem[]): readonly TurnItem[] {
  const group = newGroup();
  const ids = new Set<string | null>([null]);
  return items.map((item, place) => {
    const isOwn = !ids.has(item.id) && isAddressable(item);
    ids.add(item.id);
    return isOwn ? item : { ...item, id: mintedId(group, place) };
  });
}

/** By which the items of a turn are found. */
export function keysOf(
  group: string,
  input: readonly TurnItem[],
  output: readonly TurnItem[],
): readonly string[] {
  const isGrouped = input.some(({ id }) => id === null);
  return keysOfIds(isGrouped ? group : undefined, input.flatMap(ownId), output.flatMap(ownId));
}

function ownId({ id }: TurnItem): readonly string[] {
  return id === null ? [] : [id];
}

/** The same by the ids of those that have one, and the group of the others. */
export function keysOfIds(
  group: string | undefined,
  input: readonly string[],
  output: readonly string[],
): readonly string[] {
  const ids = new Set(group === undefined ? output : [group, ...output]);
  for (const id of input.toReversed()) ids.add(id);
  return [...ids].slice(0, mostFound).map(idKey);
}

/** An id that was made here is found by itself where it was sent again, and else by its group. */
export function lookedUp(id: string): readonly string[] {
  const group = id.startsWith(mintedPrefix) ? [idKey(id.slice(0, -placeChars))] : [];
  return [idKey(id), ...group];
}
