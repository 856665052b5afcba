import type { ServiceLog } from "../../app/service-log.ts";
import { plain } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";

const errorMark = "error: ";

/** A terminal whose notes are lines of the log: with a time, and in JSON if the log is. */
export function withLoggedNotes(terminal: Terminal, log: Pick<ServiceLog, "info" | "error">): Terminal {
  return {
    ...terminal,
    noteStyle: plain,
    note: (text) => (text.startsWith(errorMark) ? log.error(text.slice(errorMark.length)) : log.info(text)),
  };
}
