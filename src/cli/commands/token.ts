import type { Command } from "commander";
import { newCommand } from "../help.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface TokenOptions {
  readonly url: string;
  readonly json?: true;
}

export function tokenCommand(terminal: Terminal): Command {
  return newCommand(
    "token",
    "Print an access token of this machine's sign-in, for programs that run a command to get one",
  )
    .requiredOption("--url <url>", "the gateway's address, as at sluice login --sign-in")
    .examples("sluice token --url https://gateway.example.com")
    .action(async ({ url, ...options }: TokenOptions) => {
      const { printToken } = await import("../sign-ins/token.ts");
      return printToken(url, options, terminal);
    });
}

export function logoutCommand(terminal: Terminal): Command {
  return newCommand("logout", "Sign this machine out of a gateway")
    .argument("<url>", "the gateway's address, as at sluice login --sign-in")
    .examples("sluice logout https://gateway.example.com")
    .action(async (url: string, options: { readonly json?: true }) => {
      const { signOut } = await import("../sign-ins/token.ts");
      return signOut(url, options, terminal);
    });
}
