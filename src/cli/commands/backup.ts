import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../base/clock.ts";
import { size } from "../../base/text/size.ts";
import { confirm, type YesOption } from "../confirm.ts";
import { database, dataFolder } from "../data-place.ts";
import { type DataOptions, newMachineCommand } from "../help.ts";
import { auditChange, withStore } from "../open-store.ts";
import { CommandError, printDone, type Terminal } from "../terminal/terminal.ts";

export function backupCommand(terminal: Terminal): Command {
  return newMachineCommand("backup", "Copy all data into one file, even while the gateway runs")
    .argument("<file>", "where to write it; an existing file is never overwritten")
    .option("--content", "also back up recorded content, to a second file, still encrypted")
    .examples("sluice backup sluice-$(date +%F).db")
    .action(async (name: string, options: DataOptions & { readonly content?: true }) => {
      const { backUp } = await import("../../admin/system/back-up.ts");
      const { backUpContent } = await import("../../store/open-content.ts");
      const file = resolve(terminal.cwd, name);
      await withStore(terminal, options, async (context) => {
        const { bytes } = await backUp(context, file);
        // The backup succeeds even if the store can no longer be written.
        await auditChange(context, "data.backup", file).catch(() => {});
        const content = options.content === true ? await backUpContent(context.dir, file) : undefined;
        const message = `${file} is a full backup (${size(bytes)})${contentText(content)}`;
        printDone(
          options.json,
          { file, bytes, ...(content === undefined ? {} : { content }) },
          message,
          terminal,
        );
      });
    });
}

/** Undefined without `--content`; null if no content was recorded. */
function contentText(content: string | null | undefined): string {
  if (content === undefined) return "";
  return content === null ? "; no content is recorded" : `, and ${content} the recorded content`;
}

/** A little more than the longest grace period a gateway may be configured with. */
const timeoutMs = 330_000;

export function restoreCommand(terminal: Terminal): Command {
  return newMachineCommand("restore", "Replace all data with a backup")
    .argument("<file>", "a file written by `sluice backup`")
    .option("--yes", "skip confirmation")
    .examples(["sluice restore sluice-2026-01-31.db", "the replaced data is kept"])
    .addHelpText("after", "\nA running gateway drains its requests and continues with the restored data.")
    .action(async (name: string, options: DataOptions & YesOption) => {
      const file = resolve(terminal.cwd, name);
      if (database(options, terminal) !== null) {
        throw new CommandError(
          "the data is in PostgreSQL, not in files; stop the gateways and restore the database with " +
            "`pg_restore` into an empty database, or with point-in-time recovery",
        );
      }
      const dir = dataFolder(options, terminal);
      if (!existsSync(file)) throw new CommandError(`file ${file} does not exist`);
      const question = `This replaces everything in ${dir} with ${file}. Restore it?`;
      if (existsSync(dir) && readdirSync(dir).length > 0) await confirm(question, options, terminal);
      const { restore } = await import("../../admin/system/restore.ts");
      const onWaiting = () => terminal.note("the gateway drains its requests, then restores the backup");
      const { replaced } = await restore({ dir, file, timeoutMs, onWaiting }, systemClock);
      const { restoreContent } = await import("../../store/open-content.ts");
      const content = await restoreContent(dir, file);
      // The restored audit log does not show that anything was replaced.
      const detail = replaced === null ? null : `the previous data is in ${replaced}`;
      await withStore(terminal, options, (context) => auditChange(context, "data.restore", file, detail));
      const backupNote = replaced === null ? "" : `\n  The previous data is kept as ${replaced}`;
      const message = `${dir} is restored from ${file}${content ? ", with its recorded content" : ""}${backupNote}`;
      printDone(options.json, { data: dir, restored: file, replaced, content }, message, terminal);
    });
}
