import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { IrRequest } from "../ir/ir.ts";

/** A client dialect's names for what a translation may have to drop or reject. */
export interface FieldNames {
  /** The reasoning effort. */
  readonly effort: string;
  /** Reasoning of earlier turns. */
  readonly reasoning: string;
  readonly stop: string;
  readonly cacheMark: string;
  readonly imageDetail: string;
  readonly formatDescription: string;
  /** The end user's id. */
  readonly user: string;
  /** At most one tool call at a time. */
  readonly singleCall: string;
}

/** Collects the fields that a translation drops because the request works without them; reported in `x-sluice-dropped`. */
export class DroppedFields {
  /** The client dialect's, so that the client recognises what is reported. */
  readonly names: FieldNames;
  readonly #dropped = new Set<string>();

  constructor(names: FieldNames) {
    this.names = names;
  }

  /** `field` as the client wrote it: a name, or a path such as `tools[2]`. */
  add(field: string): void {
    this.#dropped.add(field);
  }

  get fields(): readonly string[] {
    return [...this.#dropped];
  }
}

/** The stop sequences that a provider takes: most refuse those that are only white space, so these are dropped. */
export function takenStops({ stop }: Pick<IrRequest, "stop">, dropped: DroppedFields): string[] {
  const stops = stop.filter((sequence) => sequence.trim() !== "");
  if (stops.length < stop.length) dropped.add(dropped.names.stop);
  return stops;
}

/** Rejects what makes no sense, or what the target cannot express and the client would miss. The error names the field. */
export function refuse(field: string, why: string): never {
  throw invalidRequest(`${field}: ${why}`, field);
}

/** What makes sense, but cannot be sent to this model's provider. */
export class Untranslatable extends GatewayError {
  constructor(field: string, why: string) {
    super("invalid_request", `${field}: ${why}`, { param: field });
  }
}
