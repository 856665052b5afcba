import { idKey, newId } from "../../base/id.ts";
import { isObject, type Json } from "../../base/json.ts";
import { isPlainSegment } from "../../base/requests/request-path.ts";
import { cutText } from "../../dialects/json/parse-body.ts";
import { patchMembers } from "../../dialects/json/patch.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";

/**
 * Items without an id get one. All ids of a turn share a prefix, so that one lookup finds them: a row for each of ten thousand
 * items would delay other charges.
 */
const mintedPrefix = "item_";
const timeChars = 8;
const placeChars = 6;
const groupChars = 16;

/** Maximum items with their own ids that can be found in one turn: the newest. */
const maxListed = 2000;

const usualResponseId = /^resp_([0-9a-zA-Z]{1,64})$/;
const idInGroup = /^item_([0-9a-zA-Z]{1,64})_[0-9a-z]{6}$/;

/**
 * The common beginning of the ids of a turn's items that have no id of their own: usually the id of the response. Such
 * a turn is found by its id, and needs no row for its items (26 → 21 µs for a turn on SQLite). Null if the id has an
 * unusual form.
 */
function groupOfResponse(responseId: string): string | null {
  const [, rest] = usualResponseId.exec(responseId) ?? [];
  return rest === undefined ? null : `${mintedPrefix}${rest}_`;
}

/** The other way round: the response in whose turn an item is. Null if its id was not made from one. */
export function responseOfItem(itemId: string): string | null {
  const [, rest] = idInGroup.exec(itemId) ?? [];
  return rest === undefined ? null : `resp_${rest}`;
}

/**
 * The group of a turn's items without an id, if it has to be stored; null if the response's id determines it, or all
 * have ids.
 */
export function ownGroupOf(responseId: string, items: readonly Pick<TurnItem, "id">[]): string | null {
  const needsGroup = !usualResponseId.test(responseId) && items.some(({ id }) => id === null);
  return needsGroup ? newGroup() : null;
}

/** Adds ids to the items of a turn's input that have none. `group` is null if none was stored. */
export function identifiedInput(
  responseId: string,
  items: readonly TurnItem[],
  group: string | null,
): readonly TurnItem[] {
  const known = group ?? groupOfResponse(responseId);
  return known === null ? items : withMintedIds(items, known);
}

/** A new group, which begins with the time, like OpenAI's ids (see `idKey`). */
export function newGroup(): string {
  const time = Date.now().toString(36).padStart(timeChars, "0");
  return mintedPrefix + time + newId("").slice(-(groupChars - timeChars));
}

/** Adds ids to the items that have none, by their positions. */
function withMintedIds(items: readonly TurnItem[], group: string): readonly TurnItem[] {
  return items.map((item, place) => (item.id === null ? { ...item, id: mintedId(group, place) } : item));
}

function mintedId(group: string, place: number): string {
  return group + place.toString(36).padStart(placeChars, "0");
}

const minted = /^item_(?:[0-9a-zA-Z]{22}|[0-9a-zA-Z]{1,64}_[0-9a-z]{6})$/;

/** Whether a parsed item may have an id that was made here. A long one may be cut. */
export function mayBeMinted(item: Json): boolean {
  const id = isObject(item) ? item["id"] : null;
  return typeof id === "string" && (id.startsWith(mintedPrefix) || id === cutText);
}

export function isMinted({ type, id }: TurnItem): boolean {
  return id !== null && minted.test(id) && type !== "item_reference";
}

/** Removes an id that Sluice minted: providers reject ids with an unknown prefix. */
export function withoutMinted(item: TurnItem): TurnItem {
  return isMinted(item) ? { ...item, raw: patchMembers(item.raw, { id: undefined }) } : item;
}

/** In characters. Encoded in a path, one character can take nine. */
const maxIdLength = 512;

/** Whether clients can request the item by its id, which must then be a valid path segment. */
export function isAddressable({ id }: TurnItem): boolean {
  return id === null || (id.length <= maxIdLength && isPlainSegment(id));
}

/** Items with unique ids that clients can request them by: some servers send the same id for all items. */
export function identified(items: readonly TurnItem[]): readonly TurnItem[] {
  const group = newGroup();
  const ids = new Set<string | null>([null]);
  return items.map((item, place) => {
    const isOwn = !ids.has(item.id) && isAddressable(item);
    ids.add(item.id);
    return isOwn ? item : { ...item, id: mintedId(group, place) };
  });
}

/** The keys by which a turn's items are found. `group` is null if the turn's id covers items without an id, or there are none. */
export function keysOf(
  group: string | null,
  input: readonly string[],
  output: readonly string[],
): readonly string[] {
  // Most turns have one: without a set, 2 → 0.3 µs.
  if (group === null && input.length === 0 && output.length < 2) return output.map(idKey);
  const ids = new Set(group === null ? output : [group, ...output]);
  for (const id of input.toReversed()) ids.add(id);
  return [...ids].slice(0, maxListed).map(idKey);
}

/** The ids of the items that have one. */
export function idsOf(items: readonly TurnItem[]): readonly string[] {
  return items.flatMap(({ id }) => id ?? []);
}

/** An id that was made here is found by itself where it was sent again, and else by its group. */
export function lookedUp(id: string): readonly string[] {
  const group = id.startsWith(mintedPrefix) ? [idKey(id.slice(0, -placeChars))] : [];
  return [idKey(id), ...group];
}
