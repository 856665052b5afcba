export interface Commit {
  /** Ends in `-dirty` if the checkout has changes that are in no commit. */
  readonly id: string;
  readonly time: Date;
}

/** The commit of this checkout; null outside of one, as in a container that is built from copied files. */
export function currentCommit(): Commit | null {
  const [id, seconds] = git("log", "-1", "--format=%H %ct")?.split(" ") ?? [];
  if (id === undefined || seconds === undefined) return null;
  const isDirty = git("status", "--porcelain") !== "";
  return { id: isDirty ? `${id}-dirty` : id, time: new Date(Number(seconds) * 1000) };
}

function git(...args: readonly string[]): string | null {
  if (Bun.which("git") === null) return null;
  const { exitCode, stdout } = Bun.spawnSync(["git", ...args], { stderr: "ignore" });
  return exitCode === 0 ? stdout.toString().trim() : null;
}
