import type { Terminal } from "./terminal/terminal.ts";

/** Warnings go to stderr, so that JSON on stdout stays valid. */
export function showWarnings(warnings: readonly string[], terminal: Terminal): void {
  for (const warning of warnings) terminal.note(`${terminal.noteStyle.warn("!")} ${warning}`);
}
