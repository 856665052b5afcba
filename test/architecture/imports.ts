import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

export const projectRoot = new URL("../..", import.meta.url).pathname;

/** One import of one file. `to` is a path from the project's root, or a package's name. */
export interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** From the project's root, `src/base/id.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

export function readSources(folder: string): SourceFile[] {
  const paths = [...new Glob(`${folder}/**/*.{ts,tsx}`).scanSync(projectRoot)].toSorted();
  return paths.map((path) => {
    const text = readFileSync(join(projectRoot, path), "utf8");
    return { path, text, imports: importsOf(path, text) };
  });
}

/** `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`. The formatter keeps the quotes double. */
const pattern =
  /^(?:import|export)\s+(?:(type)\s)?[^"';]*?\sfrom\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;

export function importsOf(path: string, text: string): Import[] {
  const found: Import[] = [];
  for (const [, type, from, bare, dynamic] of text.matchAll(pattern)) {
    const target = from ?? bare ?? dynamic;
    if (target === undefined) continue;
    const to = target.startsWith(".") ? join(dirname(path), target) : target;
    found.push({ from: path, to: relative("", to) || to, typeOnly: type !== undefined });
  }
  return found;
}

/** The folder right under `src`, or the file's own name for what stands in `src` itself. */
export function roomOf(path: string): string {
  return path.split("/")[1] ?? path;
}

/** The folder within its room, or the file's own name for what stands in the room itself. */
export function placeOf(path: string): string {
  return path.split("/")[2] ?? path;
}

/** A way from a node back to itself along the arrows, or null. */
export function findCycle(arrows: ReadonlyMap<string, readonly string[]>): string[] | null {
  const finished = new Set<string>();
  const way: string[] = [];
  const visit = (node: string): string[] | null => {
    const seenAt = way.indexOf(node);
    if (seenAt !== -1) return [...way.slice(seenAt), node];
    if (finished.has(node)) return null;
    way.push(node);
    for (const next of arrows.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== null) return cycle;
    }
    way.pop();
    finished.add(node);
    return null;
  };
  for (const node of arrows.keys()) {
    const cycle = visit(node);
    if (cycle !== null) return cycle;
  }
  return null;
}
