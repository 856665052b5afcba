import { expect, test } from "bun:test";
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";
import { hasPostgres, withoutPostgres } from "./postgres.ts";

const program = `
  const { PostgresServer } = await import(${JSON.stringify(join(import.meta.dir, "postgres.ts"))});
  using server = new PostgresServer();
  await server.createDatabase();`;

test.skipIf(!hasPostgres)(
  hasPostgres ? "processes that need a server at the same moment each get a whole one" : withoutPostgres,
  async () => {
    const folder = newFolder();
    // The server's own user has to reach it.
    chmodSync(folder, 0o755);
    try {
      const command = [process.execPath, "-e", program];
      const env = { ...process.env, TMPDIR: folder };
      const processes = Array.from({ length: 4 }, () => Bun.spawn(command, { env, stderr: "pipe" }));
      const ends = processes.map(async ({ exited, stderr }) => ({
        errors: await stderr.text(),
        code: await exited,
      }));
      expect(await Promise.all(ends)).toEqual(processes.map(() => ({ errors: "", code: 0 })));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  60_000,
);
