import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./imports.ts";

/** What a room may import. */
export interface Allowed {
  readonly rooms: ReadonlySet<string>;
  /** Rooms of which only types may be imported. */
  readonly types: ReadonlySet<string>;
  /** Only the composition root, which builds every room. */
  readonly everything: boolean;
}

const row = /^\| `([\w.-]+)` \|[^|]*\|([^|]*)\|$/gm;

/** The table of rooms in docs/architecture.md, in its order. */
export function readMap(): ReadonlyMap<string, Allowed> {
  const text = readFileSync(join(projectRoot, "docs/architecture.md"), "utf8");
  const map = new Map<string, Allowed>();
  for (const [, room = "", cell = ""] of text.matchAll(row)) map.set(room, allowedBy(cell.trim()));
  return map;
}

const floorsOf = /^### Floors of `([\w-]+)`$([^#]*)/gm;
const place = /^\| `([\w.-]+)` \|/gm;

/** The places within each large room, from the one that knows no other to the one that knows them all. */
export function readFloors(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(join(projectRoot, "docs/architecture.md"), "utf8");
  const lists = text.matchAll(floorsOf);
  return new Map(
    Array.from(lists, ([, room = "", list = ""]) => [
      room,
      Array.from(list.matchAll(place), ([, name = ""]) => name),
    ]),
  );
}

function allowedBy(cell: string): Allowed {
  const rooms = new Set<string>();
  const types = new Set<string>();
  if (cell === "everything") return { rooms, types, everything: true };
  for (const entry of cell.split(",").map((part) => part.trim())) {
    const typesOf = /^(\S+) \(types\)$/.exec(entry)?.[1];
    if (typesOf !== undefined) types.add(typesOf);
    else if (entry !== "") rooms.add(entry);
  }
  return { rooms, types, everything: false };
}
