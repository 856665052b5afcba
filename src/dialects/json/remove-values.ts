import { closeBracket, comma, openBrace, openBracket, skipSpace, skipValue } from "./json-bytes.ts";
import { brokenJson, maxDepth, scanObject } from "./json-spans.ts";
import { applyEdits, type Edit, type Removable, removal } from "./patch.ts";

/** Names and indexes that lead to a value. */
export type ValuePath = readonly (string | number)[];

/** The JSON without the members and items at these paths. All other bytes stay unchanged. The bytes must be valid JSON. */
export function removeValues(bytes: Uint8Array, paths: readonly ValuePath[]): Uint8Array {
  const edits: Edit[] = [];
  collect(bytes, skipSpace(bytes, 0), paths, edits);
  return edits.length === 0 ? bytes : applyEdits(bytes, edits);
}

function collect(bytes: Uint8Array, start: number, paths: readonly ValuePath[], edits: Edit[]): void {
  let removedCount = 0;
  const byStep = Map.groupBy(paths, ([step]) => step);
  for (const { key, valueStart, ...entry } of entriesOf(bytes, start, paths)) {
    const here = byStep.get(key) ?? [];
    if (here.some((path) => path.length === 1)) {
      edits.push(removal(entry, entry.position > removedCount));
      removedCount += 1;
    } else if (here.length > 0) {
      const inner = here.map((path) => path.slice(1));
      collect(bytes, valueStart, inner, edits);
    }
  }
}

interface Entry extends Removable {
  readonly key: string | number;
  readonly valueStart: number;
  readonly position: number;
}

/** The entries of an object that one of the paths leads to, or all items of a list. */
function entriesOf(bytes: Uint8Array, start: number, paths: readonly ValuePath[]): readonly Entry[] {
  if (bytes[start] === openBracket) return itemsOf(bytes, start);
  if (bytes[start] !== openBrace) return [];
  const names = paths.flatMap(([step]) => (typeof step === "string" ? step : []));
  return scanObject(bytes, start, names).members.map((member) => ({ key: member.name, ...member }));
}

const uncounted = { members: 0 };

/** The items of the list that is opened there. */
function itemsOf(bytes: Uint8Array, openedAt: number): readonly Entry[] {
  const items: Entry[] = [];
  let commaBefore = -1;
  let at = skipSpace(bytes, openedAt + 1);
  while (bytes[at] !== closeBracket) {
    const end = skipValue(bytes, at, maxDepth, uncounted);
    if (end < 0) throw brokenJson();
    const next = skipSpace(bytes, end);
    const commaAfter = bytes[next] === comma ? next : -1;
    const position = items.length;
    items.push({ key: position, position, start: at, valueStart: at, end, commaBefore, commaAfter });
    if (commaAfter === -1) break;
    commaBefore = commaAfter;
    at = skipSpace(bytes, commaAfter + 1);
  }
  return items;
}
