import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { JSONC } from "bun";
import { ReleaseFailure } from "./failure.ts";

/** A package that is part of the executable. */
export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as the package declares it. */
  readonly license: string;
  readonly licenseText: string;
  /** As bun.lock has it: `sha512-…` in base64. */
  readonly integrity: string;
  /** The packages that it needs itself, `name@version`. */
  readonly needs: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** What the program depends on, directly or not, as it is installed; sorted. Tools for development are not among them. */
export function readDependencies(root: string): Dependency[] {
  const lock = JSONC.parse(readFileSync(join(root, "bun.lock"), "utf8")) as {
    readonly packages: Readonly<Record<string, readonly [string, string, object, string]>>;
  };
  const integrities = new Map(Object.values(lock.packages).map((entry) => [entry[0], entry[3]]));
  const found = new Map<string, Dependency>();
  const visit = (folder: string): string => {
    const { name, version, license, dependencies = {} } = readManifest(folder);
    const id = `${name}@${version}`;
    if (found.has(id)) return id;
    const integrity = integrities.get(id);
    if (integrity === undefined) throw new ReleaseFailure(`${id} is installed but not in bun.lock`);
    if (license === undefined) throw new ReleaseFailure(`${id} does not say under which licence it is`);
    const facts = { name, version, license, integrity, licenseText: readLicense(folder) };
    // First without what it needs: packages may need each other.
    found.set(id, { ...facts, needs: [] });
    found.set(id, { ...facts, needs: Object.keys(dependencies).map((each) => visit(find(each, folder))) });
    return id;
  };
  for (const name of Object.keys(readManifest(root).dependencies ?? {})) visit(find(name, root));
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Where a package that is imported from a folder is installed. */
function find(name: string, from: string): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(candidate)) return candidate;
  }
  throw new ReleaseFailure(`${name} is not installed; run \`bun install --frozen-lockfile\``);
}

function readLicense(folder: string): string {
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
  return files
    .toSorted()
    .map((file) => readFileSync(join(folder, file), "utf8").trim())
    .join("\n\n");
}
