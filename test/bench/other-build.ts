import { rmSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";

const root = join(import.meta.dir, "../..");

/** Another commit's executable, built in a worktree of its own. */
export interface OtherBuild extends Disposable {
  readonly executable: string;
}

export function buildOther(commit: string): OtherBuild {
  const folder = newFolder();
  run(["git", "worktree", "add", "--detach", "--force", folder, commit], root);
  run([process.execPath, "install", "--frozen-lockfile", "--silent"], folder);
  run([process.execPath, "build.ts"], folder);
  return {
    executable: join(folder, "dist/sluice"),
    [Symbol.dispose]() {
      run(["git", "worktree", "remove", "--force", folder], root);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function run(command: string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${stderr}`);
}
