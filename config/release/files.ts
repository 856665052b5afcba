/** A file of an archive or a package. */
export interface ReleaseFile {
  /** Relative, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: true;
}

export function textFile(path: string, text: string): ReleaseFile {
  return { path, bytes: new TextEncoder().encode(text) };
}

export async function copiedFile(path: string, from: string): Promise<ReleaseFile> {
  return { path, bytes: await Bun.file(from).bytes() };
}

/** The same files below a folder. */
export function below(folder: string, files: readonly ReleaseFile[]): ReleaseFile[] {
  return files.map((file) => ({ ...file, path: `${folder}/${file.path}` }));
}

/** In the order of their bytes, which no locale changes. */
export function sortedByPath(files: readonly ReleaseFile[]): ReleaseFile[] {
  return files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/** Every folder that the files are in, parents first. */
export function foldersOf(files: readonly ReleaseFile[]): string[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    const parts = path.split("/");
    for (let depth = 1; depth < parts.length; depth += 1) folders.add(parts.slice(0, depth).join("/"));
  }
  return [...folders].toSorted();
}
