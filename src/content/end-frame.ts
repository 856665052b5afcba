import { type Json, tryParse } from "../base/json.ts";
import type { EndFacts, RecordingEnd } from "./document.ts";
import type { Redactor } from "./redactor.ts";
import { replaceData } from "./replace-data.ts";

/** Four lines. Many requests share the last one, so it is parsed and cleaned once. JSON text has no line feeds. */
export function writeEnd({ id, atMs, usage, facts }: RecordingEnd): string {
  return `${id}\n${atMs}\n${usage === null ? "" : JSON.stringify(usage)}\n${writtenFacts(facts)}`;
}

let lastFacts: { readonly facts: EndFacts; readonly text: string } | null = null;

/** Often a request has the facts of the previous one, and comparing is cheaper than writing: 1.3 → 0.1 µs. */
function writtenFacts(facts: EndFacts): string {
  if (lastFacts === null || !areSame(lastFacts.facts, facts))
    lastFacts = { facts, text: JSON.stringify(facts) };
  return lastFacts.text;
}

function areSame(one: EndFacts, other: EndFacts): boolean {
  return (
    one.key === other.key &&
    one.row.keyId === other.row.keyId &&
    one.row.owner === other.row.owner &&
    one.row.isKept === other.row.isKept &&
    one.row.isTraced === other.row.isTraced &&
    one.model === other.model &&
    one.labels === other.labels &&
    one.route === other.route &&
    one.status === other.status &&
    one.outcome === other.outcome &&
    one.dropped.length === 0 &&
    other.dropped.length === 0
  );
}

export interface ReadEnd extends RecordingEnd {
  /** The members of the document that are known at the end, as JSON without braces and secrets. */
  readonly members: string;
}

type KnownFacts = Pick<ReadEnd, "facts" | "members">;

const maxKnown = 1000;

/** Reads the ends of recordings. */
export class EndReader {
  readonly #redactor: Redactor;
  readonly #known = new Map<string, KnownFacts>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  read(text: string): ReadEnd {
    const idEnd = text.indexOf("\n");
    const timeEnd = text.indexOf("\n", idEnd + 1);
    const usageEnd = text.indexOf("\n", timeEnd + 1);
    const id = text.slice(0, idEnd);
    const atMs = Number(text.slice(idEnd + 1, timeEnd));
    const usage = usageEnd === timeEnd + 1 ? null : (tryParse(text.slice(timeEnd + 1, usageEnd)) ?? null);
    const { facts, members } = this.#factsOf(text.slice(usageEnd + 1));
    const time = new Date(atMs).toISOString();
    return { id, atMs, usage, facts, members: `"id":"${id}","time":"${time}",${members}` };
  }

  #factsOf(json: string): KnownFacts {
    const found = this.#known.get(json);
    if (found !== undefined) return found;
    if (this.#known.size >= maxKnown) this.#known.clear();
    const clean = replaceData(JSON.parse(json) as Json, this.#redactor.clean);
    const facts = JSON.parse(JSON.stringify(clean)) as EndFacts;
    const { row: _, ...shown } = facts;
    const known = { facts, members: JSON.stringify(shown).slice(1, -1) };
    this.#known.set(json, known);
    return known;
  }
}
