import { type Command, CommanderError } from "commander";
import { OperationError } from "../admin/context.ts";
import { CannotListen } from "../base/system/open-port.ts";
import { systemCode } from "../base/system/system-code.ts";
import { printable } from "../base/text/printable.ts";
import { ConfigError } from "../config/problems.ts";
import { didYouMean } from "../config/suggest.ts";
import { StoreError } from "../store/store.ts";
import { gatewayInUse } from "./gateways/remote.ts";
import { type DataOptions, isRemoteCapable, SluiceCommand } from "./help.ts";
import { OperationRejected } from "./operations/client.ts";
import { buildProgram, fullName } from "./program.ts";
import { plain, type Style } from "./terminal/style.ts";
import { CommandError, CommandFailed, Misuse, type Terminal } from "./terminal/terminal.ts";

/** Runs one command line and returns its exit status: 0 done, 1 rejected, 2 misused. */
export async function run(argv: readonly string[], unguarded: Terminal): Promise<number> {
  const json = argv.includes("--json");
  let terminal = withoutLongWords(guarded(unguarded), argv);
  let called: string | null = null;
  let ran: Command | null = null;
  try {
    const { words, gateway } = takeGateway(argv);
    terminal = { ...terminal, gateway };
    const program = buildProgram(terminal, json, words[0]);
    program.hook("preAction", (_, command) => {
      ran = command;
      rejectRemote(command, gateway, terminal);
      if (isRemoteCapable(command)) called = gateway ?? gatewayInUse(terminal, command.opts<DataOptions>());
    });
    await program.parseAsync(expandHelpAliases(words, program), { from: "user" });
    return 0;
  } catch (error) {
    const known = called === null ? error : unlessOfOtherForm(error, called);
    return reportError(withOptionNames(known, ran), terminal, json);
  }
}

/** An operation's message names the fields of the API. Those that the command has as options are named like these. */
function withOptionNames(error: unknown, command: Command | null): unknown {
  if (command === null || !(error instanceof OperationRejected || error instanceof OperationError))
    return error;
  const options = new Set(command.options.map(({ long }) => long));
  const message = error.message.replaceAll(/`([a-z][a-z_]*)`/g, (field, name: string) => {
    const option = `--${name.replaceAll("_", "-")}`;
    return options.has(option) ? `\`${option}\`` : field;
  });
  return new CommandError(message);
}

/** A remote server can be a gateway of a different release, or no gateway at all, so its response can lack fields that a command expects. */
function unlessOfOtherForm(error: unknown, gateway: string): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  return new CommandError(
    `the gateway ${gateway} responded with something that this sluice does not know; use the sluice of the gateway's release (${error.message})`,
  );
}

interface AddressedWords {
  readonly words: readonly string[];
  readonly gateway: string | undefined;
}

/** `--gateway` can be before or after the command. */
function takeGateway(argv: readonly string[]): AddressedWords {
  const end = argv.indexOf("--");
  const place = argv.findIndex((word, index) => /^--gateway(=|$)/.test(word) && (end === -1 || index < end));
  const word = argv[place];
  if (word === undefined) return { words: argv, gateway: undefined };
  const isJoined = word.includes("=");
  const gateway = isJoined ? word.slice(word.indexOf("=") + 1) : argv[place + 1];
  if (gateway === undefined || gateway === "") throw new Misuse("--gateway needs an address or a name");
  return { words: argv.toSpliced(place, isJoined ? 1 : 2), gateway };
}

/** Rejects commands that need this machine if a gateway elsewhere is selected. */
function rejectRemote(command: Command, gateway: string | undefined, terminal: Terminal): void {
  if (isRemoteCapable(command)) return;
  const works = `\`${fullName(command)}\` works only on the gateway's own machine`;
  if (gateway !== undefined) throw new CommandError(`${works}; run it there, without --gateway`);
  if (!(command instanceof SluiceCommand) || !command.needsMachine) return;
  const used = gatewayInUse(terminal, command.opts<DataOptions>());
  if (used === null) return;
  throw new CommandError(
    `${works}, and \`sluice gateways use ${used}\` is in effect; run it there, or pass --data DIR for data of this machine`,
  );
}

function reportError(error: unknown, terminal: Terminal, json: boolean): number {
  if (error instanceof CommandFailed) return 1;
  if (error instanceof CommanderError) return reportMisuse(error, terminal, json);
  const message = messageOf(error);
  const problems = error instanceof ConfigError ? { problems: error.problems } : {};
  if (json) terminal.note(JSON.stringify({ error: { message, ...problems } }));
  else terminal.note(`${terminal.noteStyle.bad("error:")} ${withoutControls(message)}`);
  return error instanceof Misuse ? 2 : 1;
}

/**
 * Reports a misuse. Commander has printed its message, except for JSON output. It also reports a request for help as an
 * error.
 */
function reportMisuse(
  { code, exitCode, message }: CommanderError,
  terminal: Terminal,
  json: boolean,
): number {
  if (exitCode === 0) return 0;
  if (json && code !== "commander.help") {
    terminal.note(JSON.stringify({ error: { message: message.replace(/^error: /, "") } }));
  }
  return 2;
}

const expected = [Misuse, CommandError, CannotListen, ConfigError, StoreError, OperationError];

/** An unexpected error is shown with its stack. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (expected.some((kind) => error instanceof kind)) return error.message;
  return systemFailure(error) ?? error.stack ?? error.message;
}

interface SystemError extends Error {
  readonly syscall?: unknown;
  readonly path?: unknown;
}

/** A system or database error as a sentence; null for a bug in Sluice. */
function systemFailure(error: SystemError): string | null {
  const code = systemCode(error);
  if (code === null) return null;
  if (code.startsWith("SQLITE_")) return `the database cannot be used: ${error.message} (${code})`;
  if (!/^E[A-Z0-9]+$/.test(code)) return null;
  const [, reason = error.message] = /^E[A-Z0-9]+: (.*?)(?:, \w+(?: '.*')?)?$/.exec(error.message) ?? [];
  const what = typeof error.syscall === "string" ? `cannot ${error.syscall} ` : "";
  const where = typeof error.path === "string" ? `${error.path}: ` : "";
  return `${what}${where}${reason} (${code})`;
}

/** Rewrites `sluice help keys create`, `sluice keys help` and `sluice --version` to our own commands. */
function expandHelpAliases(argv: readonly string[], program: Command): readonly string[] {
  const [first = "", second, ...further] = argv;
  if (first === "--version" || first === "-V") return ["version", ...argv.slice(1)];
  if (first === "help") return helpOn(argv.slice(1), program);
  if (second === "help") return helpOn([first, ...further], program);
  // Commander answers with the help of the last command that it knows.
  if (argv.some((word) => word === "--help" || word === "-h"))
    rejectUnknown(wordsBeforeOptions(argv), program);
  return argv;
}

function wordsBeforeOptions(argv: readonly string[]): readonly string[] {
  const options = argv.findIndex((word) => word.startsWith("-"));
  return options === -1 ? argv : argv.slice(0, options);
}

function helpOn(names: readonly string[], program: Command): readonly string[] {
  rejectUnknown(
    names.filter((name) => !name.startsWith("-")),
    program,
  );
  return [...names, "--help"];
}

/** Words after a command without subcommands are its arguments. */
function rejectUnknown(names: readonly string[], program: Command): void {
  let found = program;
  for (const name of names) {
    if (found.commands.length === 0) return;
    const next = found.commands.find((command) => command.name() === name);
    if (next === undefined) {
      const known = found.commands.map((command) => command.name());
      throw new Misuse(`unknown command "${names.join(" ")}"${didYouMean(name, known)}`);
    }
    found = next;
  }
}

/** Errors quote words of the command line. */
const maxEchoedChars = 200;

/** A terminal whose notes show only the start of a long word of the command line. */
function withoutLongWords(terminal: Terminal, argv: readonly string[]): Terminal {
  const long = argv
    .map((word) => (word.startsWith("--") ? word.slice(word.indexOf("=") + 1) : word))
    .filter((word) => word.length > maxEchoedChars);
  if (long.length === 0) return terminal;
  const shorten = (text: string) =>
    long.reduce((rest, word) => rest.replaceAll(word, `${word.slice(0, maxEchoedChars)}…`), text);
  return { ...terminal, note: (text) => terminal.note(shorten(text)) };
}

/** The escape codes of our own styles; `style.ts` has the numbers. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const ownStyle = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/;
const layout = /([\n\t])/;

/** A terminal that accepts only our own styles and line breaks. Control characters in the text are neutralized. */
function guarded(terminal: Terminal): Terminal {
  return {
    ...terminal,
    print: (text) => terminal.print(harmless(text, terminal.style)),
    note: (text) => terminal.note(harmless(text, terminal.noteStyle)),
    write: (text) => terminal.write(harmless(text, terminal.style)),
  };
}

function harmless(text: string, style: Style): string {
  if (style === plain) return withoutControls(text);
  return text
    .split(ownStyle)
    .map((part, place) => (place % 2 === 1 ? part : withoutControls(part)))
    .join("");
}

/** Line breaks and tabs stay. */
function withoutControls(text: string): string {
  return text
    .split(layout)
    .map((part, place) => (place % 2 === 1 ? part : printable(part)))
    .join("");
}
