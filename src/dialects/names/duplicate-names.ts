import {
  closeBrace,
  closeBracket,
  comma,
  endOfString,
  openBrace,
  openBracket,
  skipSpace,
  skipValue,
} from "../json/json-bytes.ts";
import { pathOf } from "../json/name-path.ts";
import { isGoverned, type Place, placeUnder } from "./governed-names.ts";

/** The path of the first duplicate governed name; null if there is none. The bytes must be valid JSON. */
export function findDuplicate(bytes: Uint8Array): string | null {
  const scan = new DuplicateScan(bytes);
  scan.value(skipSpace(bytes, 0), "top");
  return scan.found;
}

const decoder = new TextDecoder();
const uncounted = { members: 0 };

/** Walks over all names of a body. */
class DuplicateScan {
  found: string | null = null;
  readonly #bytes: Uint8Array;
  readonly #path: (string | number)[] = [];

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Returns the index after the value. */
  value(start: number, place: Place): number {
    const first = this.#bytes[start];
    // Names that the caller defines may repeat: no provider interprets them.
    if (place === "caller" || (first !== openBrace && first !== openBracket)) {
      return skipValue(this.#bytes, start, Number.POSITIVE_INFINITY, uncounted);
    }
    return first === openBrace ? this.#object(start, place) : this.#array(start, place);
  }

  #object(start: number, place: Place): number {
    const bytes = this.#bytes;
    const names = new Set<string>();
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] !== closeBrace) {
      const nameEnd = endOfString(bytes, at) + 1;
      const name: string = JSON.parse(decoder.decode(bytes.subarray(at, nameEnd)));
      this.#path.push(name);
      if (names.has(name) && isGoverned(place, name)) this.found ??= pathOf(this.#path);
      names.add(name);
      const colonAt = skipSpace(bytes, nameEnd);
      const valueStart = skipSpace(bytes, colonAt + 1);
      at = this.#next(this.value(valueStart, placeUnder(place, name, bytes[valueStart] === openBrace)));
      this.#path.pop();
    }
    return at + 1;
  }

  #array(start: number, place: Place): number {
    let at = skipSpace(this.#bytes, start + 1);
    for (let index = 0; this.#bytes[at] !== closeBracket; index += 1) {
      this.#path.push(index);
      at = this.#next(this.value(at, place));
      this.#path.pop();
    }
    return at + 1;
  }

  /** The start of the next member or item, or the closing bracket. */
  #next(end: number): number {
    const at = skipSpace(this.#bytes, end);
    return this.#bytes[at] === comma ? skipSpace(this.#bytes, at + 1) : at;
  }
}
