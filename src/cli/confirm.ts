import { CommandError, type Terminal } from "./terminal/terminal.ts";

export interface YesOption {
  readonly yes?: true;
}

/** Irreversible commands ask for confirmation on a terminal. `--yes` confirms; without either they are rejected. */
export async function confirm(question: string, options: YesOption, terminal: Terminal): Promise<void> {
  if (options.yes) return;
  if (!terminal.interactive)
    throw new CommandError(`${question} There is no terminal to ask on; pass --yes to confirm`);
  const answer = await terminal.ask(`${terminal.noteStyle.warn("?")} ${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was changed");
}
