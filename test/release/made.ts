import { existsSync } from "node:fs";
import type { Build } from "../../config/release/build.ts";
import { readDependencies } from "../../config/release/dependencies.ts";
import { readDocuments } from "../../config/release/documents.ts";
import { targets } from "../../config/release/targets.ts";

export const root = new URL("../..", import.meta.url).pathname;
export const commit = { id: "0123456789abcdef", time: new Date("2026-01-02T03:04:06Z") };

/** A build of the executable that the other suites run, for this machine. */
export async function quickBuild(executable: Uint8Array): Promise<Build> {
  const name = `linux-${process.arch}`;
  const target = targets.find((each) => each.name === name);
  if (target === undefined) throw new Error(`no release is made for ${name}`);
  const documents = await readDocuments(commit, readDependencies(root));
  return { target, executable, documents, time: commit.time, effort: "quick" };
}

/** `dist/sluice`, made if it is not there: the test command has built it before programs are tested. */
export async function builtExecutable(): Promise<Uint8Array> {
  if (!existsSync(`${root}/dist/sluice`)) await command([process.execPath, "build.ts"], { cwd: root });
  return Bun.file(`${root}/dist/sluice`).bytes();
}

/** Stands for the program where only the packaging is tried. */
export const smallProgram = new TextEncoder().encode("#!/bin/sh\necho a small program\n");

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command that must succeed, and gives what it printed. */
export async function command(words: readonly string[], options: CommandOptions): Promise<string> {
  const { code, output } = await attempt(words, options);
  if (code !== 0) throw new Error(`${words.join(" ")} gave ${code}:\n${output}`);
  return output;
}

export async function attempt(
  words: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<{ readonly code: number; readonly output: string }> {
  const child = Bun.spawn([...words], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd, TMPDIR: process.env["TMPDIR"] ?? "/tmp", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: stdout + stderr };
}
