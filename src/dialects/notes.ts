import type { DialectName } from "../base/dialect.ts";
import { invalidRequest } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";

/** What a translation leaves out because it does no harm when missing; told in `x-sluice-dropped`. */
export class Notes {
  /** Whose words a field is to be named in. */
  readonly client: DialectName;
  readonly #dropped = new Set<string>();

  constructor(client: DialectName) {
    this.client = client;
  }

  /** `field` as the client wrote it: a name, or a path such as `tools[2]`. */
  drop(field: string): void {
    this.#dropped.add(field);
  }

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }
}

/** Every field of an object that is not among those that are read, under its path. */
export function noteOthers(
  object: JsonObject,
  read: ReadonlySet<string>,
  notes: Notes,
  path: (field: string) => string = (field) => field,
): void {
  for (const [field, value] of Object.entries(object)) {
    if (!read.has(field) && value !== null && value !== undefined) notes.drop(path(field));
  }
}

/** What cannot be expressed and would be missed is refused, naming the field; nothing vanishes silently. */
export function refuse(field: string, why: string): never {
  throw invalidRequest(`${field}: ${why}`, field);
}
