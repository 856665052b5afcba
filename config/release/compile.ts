/** Threads are entry points of their own, and are found in the executable by their paths below `src`. */
const entrypoints = [
  "src/main.ts",
  "src/store/sqlite/log/checkpoint-thread.ts",
  "src/store/sqlite/reports/thread.ts",
  "src/catalog/tokens/worker.ts",
  "src/gateway/worker.ts",
  "src/admin/reconcile/thread.ts",
  "src/content/thread.ts",
];

export interface Compilation {
  readonly outfile: string;
  /** Another system than this one. */
  readonly target?: Bun.Build.CompileTarget;
  /** For `sluice version --json`; null where it is not known. */
  readonly commit: string | null;
}

/**
 * Makes the one executable. What is imported on demand becomes a module of its own inside of it, so that a start reads only what it
 * runs. Nothing is minified (it breaks how Elysia finds out what a handler reads, and saves nothing next to the runtime), and the
 * executable reads no bunfig.toml and no .env of the folder it is started in, because both could run code.
 */
export async function compile({ outfile, target, commit }: Compilation): Promise<void> {
  const result = await Bun.build({
    entrypoints,
    bytecode: true,
    splitting: true,
    format: "esm",
    define: {
      "process.env.NODE_ENV": '"production"',
      // Packages would otherwise contain the folder that they were built in, and no other folder would give the same bytes.
      __dirname: '"/"',
      __filename: '"/"',
      ...(commit === null ? {} : { SLUICE_BUILD_COMMIT: JSON.stringify(commit) }),
    },
    compile: {
      outfile,
      autoloadBunfig: false,
      autoloadDotenv: false,
      ...(target === undefined ? {} : { target }),
    },
  });
  if (!result.success) throw new AggregateError(result.logs, `${outfile} could not be compiled`);
}
