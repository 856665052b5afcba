import { type Command, Option } from "commander";
import { clientIds } from "../../base/models/client-snippets.ts";
import type { LoginOptions } from "../connect/login.ts";
import { newCommand } from "../help.ts";
import { Misuse, type Terminal } from "../terminal/terminal.ts";

interface Options extends LoginOptions {
  readonly signIn?: true;
  readonly operator?: true;
}

export function loginCommand(terminal: Terminal): Command {
  return newCommand("login", "Sign in to a gateway in the browser, and receive a key of your own")
    .argument("<url>", "the gateway's address")
    .addOption(
      new Option("--for <client>", `set up a client with the key: ${clientIds.join(", ")}`).choices(
        clientIds,
      ),
    )
    .option("--url <url>", "the address for clients, if it is not where you sign in")
    .option("--model <model>", "the model to use (default: one that the key can use)")
    .option("--sign-in", "sign this machine in instead: programs get tokens that expire, from `sluice token`")
    .option("--operator", "get an admin token with your role instead, for --gateway")
    .option("--no-browser", "only print the address to open")
    .examples(
      ["sluice login https://gateway.example.com", "prints the key once"],
      ["sluice login https://gateway.example.com --for claude-code", "writes it to Claude Code's settings"],
      ["sluice login https://gateway.example.com --sign-in --for codex", "no key in Codex's file"],
      ["sluice login https://gateway.example.com --operator", "then --gateway gateway.example.com"],
    )
    .action(async (url: string, { signIn, operator, ...options }: Options) => {
      if (operator) {
        const others = [signIn, options.for, options.url, options.model];
        if (others.some((each) => each !== undefined))
          throw new Misuse("--operator is for this machine's commands; pass it without options for clients");
        const { loginAsOperator } = await import("../gateways/operator-login.ts");
        return loginAsOperator(url, options, terminal);
      }
      if (signIn) {
        const { signInMachine } = await import("../sign-ins/sign-in-machine.ts");
        return signInMachine(url, options, terminal);
      }
      const { login } = await import("../connect/login.ts");
      return login(url, options, terminal);
    });
}
