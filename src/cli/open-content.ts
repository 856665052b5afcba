import { locateContentKey } from "../config/content.ts";
import { ContentArchive } from "../content/archive.ts";
import { hasContentFile } from "../store/open-content.ts";
import type { StoreLocation } from "../store/settings.ts";
import { database } from "./data-place.ts";
import type { DataOptions } from "./help.ts";
import type { StoreContext } from "./open-store.ts";
import { CommandError, type Terminal } from "./terminal/terminal.ts";

/** The location of recorded content. Throws if the folder never had any. */
async function contentLocation(
  { dir }: Pick<StoreContext, "dir">,
  options: DataOptions,
  terminal: Terminal,
): Promise<StoreLocation> {
  const address = database(options, terminal);
  if (address !== null) return address;
  if (!(await hasContentFile(dir)))
    throw new CommandError(`no recorded content in ${dir}; to record it, add [content] to the configuration`);
  return { dir };
}

export async function openContent(
  context: Pick<StoreContext, "dir">,
  options: DataOptions,
  terminal: Terminal,
): Promise<ContentArchive> {
  const location = await contentLocation(context, options, terminal);
  const key = locateContentKey({ file: options.config, env: terminal.env, cwd: terminal.cwd });
  return ContentArchive.open({ location, key });
}

/** Opens recorded content, which a gateway may be writing, runs `work`, and closes it. */
export async function withContent<Result>(
  context: Pick<StoreContext, "dir">,
  options: DataOptions,
  terminal: Terminal,
  work: (archive: ContentArchive) => Promise<Result>,
): Promise<Result> {
  const archive = await openContent(context, options, terminal);
  try {
    return await work(archive);
  } finally {
    await archive.close();
  }
}
