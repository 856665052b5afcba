import { limitedText } from "../../base/text/limited-text.ts";
import { size } from "../../base/text/size.ts";
import { readInput } from "../named-file.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";

/** The public lists have 2 to 4 MB. */
const maxBytes = 32 * 1024 * 1024;
const timeoutMs = 60_000;

export interface NamedList {
  readonly text: string;
  /** For display and the audit log, without credentials. */
  readonly name: string;
}

/** Reads a list from a file, or from the address that the operator names. */
export async function fetchList(from: string, terminal: Terminal): Promise<NamedList> {
  const url = /^https?:\/\//i.test(from) ? URL.parse(from) : null;
  if (url === null) {
    const text = await readInput(from, terminal);
    if (text.length > maxBytes) throw tooLarge(from);
    return { text, name: from };
  }
  const name = `${url.origin}${url.pathname}`;
  return { text: await download(url, name), name };
}

async function download(url: URL, name: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new CommandError(`${name} responds with status ${response.status}`);
    return await limitedText(response, maxBytes, () => tooLarge(name));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${name} cannot be read: ${(error as Error).message}`);
  }
}

function tooLarge(name: string): CommandError {
  return new CommandError(`${name} is larger than ${size(maxBytes)}, so it is not a price list`);
}
