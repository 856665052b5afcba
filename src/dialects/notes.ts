import type { DialectName } from "../base/dialect.ts";
import { invalidRequest } from "../base/errors.ts";

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

/** What cannot be expressed and would be missed is refused, naming the field; nothing vanishes silently. */
export function refuse(field: string, why: string): never {
  throw invalidRequest(`${field}: ${why}`, field);
}
