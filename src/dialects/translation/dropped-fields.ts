import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";

/** What a client dialect calls the things that a translation may have to leave out or refuse. */
export interface FieldNames {
  /** How hard to think. */
  readonly effort: string;
  /** What was thought before, brought back. */
  readonly reasoning: string;
  readonly stop: string;
  readonly cacheMark: string;
  readonly imageDetail: string;
  readonly formatDescription: string;
}

/** What a translation leaves out because it does no harm when missing; told in `x-sluice-dropped`. */
export class DroppedFields {
  /** The client's own, so that it recognises what is reported. */
  readonly names: FieldNames;
  /** Made when it is first needed: most requests lose nothing. */
  #dropped: Set<string> | null = null;

  constructor(names: FieldNames) {
    this.names = names;
  }

  /** `field` as the client wrote it: a name, or a path such as `tools[2]`. */
  add(field: string): void {
    this.#dropped ??= new Set();
    this.#dropped.add(field);
  }

  get fields(): readonly string[] {
    return this.#dropped === null ? nothing : [...this.#dropped];
  }
}

const nothing: readonly string[] = [];

/** Every field of an object that is not among those that are read, under its path. */
export function dropOthers(
  object: JsonObject,
  read: ReadonlySet<string>,
  dropped: DroppedFields,
  prefix = "",
): void {
  // An object out of JSON has no prototype's fields, and `entries` would make an array of each of its own.
  for (const field in object) {
    if (read.has(field)) continue;
    const value = object[field];
    if (value !== null && value !== undefined) dropped.add(prefix + field);
  }
}

/** What cannot be expressed and would be missed is refused, naming the field; nothing vanishes silently. */
export function refuse(field: string, why: string): never {
  throw invalidRequest(`${field}: ${why}`, field);
}
