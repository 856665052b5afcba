import { invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { ParsedBody } from "../schema/validate.ts";
import { findDuplicate } from "./duplicate-names.ts";
import { lookalikeOf, type Place, placeUnder } from "./governed-names.ts";
import { pathOf } from "./name-path.ts";

/**
 * Throws `invalid_request` for a name that another parser could take for a governed one, and for a governed name
 * inside the body that is given twice. A parsed object has each name once, so a body whose bytes have more members
 * than its objects repeats a name; only then are the bytes searched for it.
 */
export function checkNames({ outline, memberCount }: ParsedBody, bytes: Uint8Array): void {
  const walk = new NameWalk();
  walk.object(outline, "top");
  if (walk.members === memberCount) return;
  const path = findDuplicate(bytes);
  if (path !== null) throw invalidRequest(`\`${path}\` is given twice; send it once.`, path);
}

class NameWalk {
  members = 0;
  readonly #path: (string | number)[] = [];

  object(object: JsonObject, place: Place): void {
    for (const name in object) {
      this.members += 1;
      const lookalike = lookalikeOf(place, name);
      if (lookalike !== null) throw this.#refusal(name, lookalike);
      const value = object[name];
      if (typeof value !== "object" || value === null) continue;
      this.#path.push(name);
      this.#nested(value, placeUnder(place, name, !Array.isArray(value)));
      this.#path.pop();
    }
  }

  #nested(value: Json, place: Place): void {
    if (isObject(value)) {
      this.object(value, place);
    } else if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        const item = value[index];
        if (typeof item !== "object" || item === null) continue;
        this.#path.push(index);
        this.#nested(item, place);
        this.#path.pop();
      }
    }
  }

  #refusal(name: string, lookalike: string): Error {
    const path = pathOf([...this.#path, name]);
    return invalidRequest(
      `Some providers would read \`${path}\` as \`${lookalike}\`; spell it \`${lookalike}\`, or leave it out.`,
      path,
    );
  }
}
