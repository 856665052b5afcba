import { Argument, type Command } from "commander";
import { type ClientId, clientIds } from "../../base/models/client-snippets.ts";
import type { ConnectOptions } from "../connect/find-connection.ts";
import { newDataCommand } from "../help.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface Options extends ConnectOptions {
  readonly write?: true;
  readonly undo?: true;
  readonly signIn?: true;
}

export function connectCommand(terminal: Terminal): Command {
  return newDataCommand("connect", "Show or write the settings that connect a client to the gateway")
    .addArgument(new Argument("<client>", "the client").choices(clientIds))
    .option("--key <key>", "the API key (SLUICE_KEY; default: asks)")
    .option("--url <url>", "the gateway's address (default: the gateway that runs on the data folder)")
    .option("--model <model>", "the model to use (default: one that the key can use)")
    .option("--sign-in", "without a key: claude-code signs in at the gateway by itself")
    .option("--write", "change the client's own file, with a backup: claude-code, codex")
    .option("--undo", "restore the client's own file; if it was edited since, remove only our settings")
    .examples(
      ["sluice connect claude-code --key slu_…", "print what to set"],
      ["sluice connect claude-code --write", "change ~/.claude/settings.json"],
      ["sluice connect codex --url https://gateway.example.com --write", "a remote gateway"],
      [
        "sluice connect claude-code --sign-in --url https://gateway.example.com --write",
        "sign in, without a key",
      ],
      ["sluice connect claude-code --undo", "undo the change"],
    )
    .action(async (client: ClientId, options: Options) => {
      const { printSettings, undo, writeSettings } = await import("../connect/connect.ts");
      if (options.undo) return undo(client, options, terminal);
      if (options.signIn) {
        const { connectBySignIn } = await import("../sign-ins/connect-by-sign-in.ts");
        return connectBySignIn(client, options, terminal);
      }
      return options.write
        ? writeSettings(client, options, terminal)
        : printSettings(client, options, terminal);
    });
}
