/** Changes single members in the text of a JSON document, so that the rest keeps its layout. The text must be valid. */

interface Member {
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

interface JsonObjectText {
  readonly open: number;
  readonly close: number;
  readonly members: readonly Member[];
}

const string = /"(?:[^"\\]|\\.)*"/y;
const scalar = /[^\s,\]}]+/y;

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : text.length;
}

function afterBlanks(text: string, start: number): number {
  return endOf(/[\s]*/y, text, start);
}

function valueEnd(text: string, start: number): number {
  const first = text.charAt(start);
  if (first === '"') return endOf(string, text, start);
  if (first !== "{" && first !== "[") return endOf(scalar, text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = endOf(string, text, at) - 1;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function objectAt(text: string, open: number): JsonObjectText {
  const members: Member[] = [];
  let at = afterBlanks(text, open + 1);
  while (at < text.length && text.charAt(at) === '"') {
    const nameEnd = endOf(string, text, at);
    const valueStart = afterBlanks(text, afterBlanks(text, nameEnd) + 1);
    const end = valueEnd(text, valueStart);
    members.push({ name: JSON.parse(text.slice(at, nameEnd)), start: at, valueStart, end });
    at = afterBlanks(text, end);
    if (text.charAt(at) === ",") at = afterBlanks(text, at + 1);
  }
  return { open, close: at, members };
}

/** The object at the path; null if there is none. Of members with the same name, the last one counts. */
function objectIn(text: string, path: readonly string[]): JsonObjectText | null {
  let open = afterBlanks(text, 0);
  for (const name of path) {
    const found = objectAt(text, open).members.findLast((member) => member.name === name);
    if (found === undefined || text.charAt(found.valueStart) !== "{") return null;
    open = found.valueStart;
  }
  return objectAt(text, open);
}

/** Sets a member of an existing object. */
export function setMember(text: string, path: readonly string[], value: unknown): string {
  const name = path.at(-1) ?? "";
  const object = objectIn(text, path.slice(0, -1));
  if (object === null) throw new Error(`${path.slice(0, -1).join(".")} is not an object`);
  const written = JSON.stringify(value);
  const existing = object.members.findLast((member) => member.name === name);
  if (existing !== undefined) {
    return text.slice(0, existing.valueStart) + written + text.slice(existing.end);
  }
  const member = `${JSON.stringify(name)}: ${written}`;
  const last = object.members.at(-1);
  if (last === undefined) {
    const indent = "  ".repeat(path.length - 1);
    return `${text.slice(0, object.open + 1)}\n${indent}  ${member}\n${indent}${text.slice(object.close)}`;
  }
  const before = object.members.at(-2);
  const separator = before === undefined ? object.open + 1 : text.indexOf(",", before.end) + 1;
  const blanks = text.slice(separator, last.start);
  return `${text.slice(0, last.end)},${blanks}${member}${text.slice(last.end)}`;
}

export function removeMember(text: string, path: readonly string[]): string {
  const object = objectIn(text, path.slice(0, -1));
  const index = object?.members.findLastIndex((member) => member.name === path.at(-1)) ?? -1;
  const member = object?.members[index];
  if (object === null || member === undefined) return text;
  const next = object.members[index + 1];
  if (next !== undefined) return text.slice(0, member.start) + text.slice(next.start);
  const before = object.members[index - 1];
  const from = before?.end ?? object.open + 1;
  const to = before === undefined ? object.close : member.end;
  return text.slice(0, from) + text.slice(to);
}
