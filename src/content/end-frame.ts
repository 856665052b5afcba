import type { RecordingEnd } from "./document.ts";
import type { Redactor } from "./redactor.ts";
import { replaceData } from "./replace-data.ts";

export interface ReadEnd extends RecordingEnd {
  /** The members of the document that are known at the end, as JSON without braces and secrets. */
  readonly members: string;
}

/** Reads the end of a recording. */
export function readEnd(text: string, redactor: Redactor): ReadEnd {
  // A cleaned copy has the members that were written.
  const end = replaceData(JSON.parse(text), redactor.clean) as unknown as RecordingEnd;
  const { id, atMs, facts } = end;
  const { row: _, ...shown } = facts;
  const members = JSON.stringify({ id, time: new Date(atMs).toISOString(), ...shown }).slice(1, -1);
  return { ...end, members };
}
