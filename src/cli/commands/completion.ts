import { Argument, type Command } from "commander";
import { newCommand } from "../help.ts";
import type { Terminal } from "../terminal/terminal.ts";

type Shell = "bash" | "zsh" | "fish";

export function completionCommand(terminal: Terminal): Command {
  const command = newCommand("completion", "Print a script that completes commands in your shell")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .examples(
      ["source <(sluice completion bash)", "in ~/.bashrc"],
      ["source <(sluice completion zsh)", "in ~/.zshrc, after compinit"],
      "sluice completion fish > ~/.config/fish/completions/sluice.fish",
    )
    .action(async (shell: Shell, options: { json?: true }) => {
      const { describe } = await import("../completion/describe.ts");
      const { completionScript } = await import("../completion/scripts.ts");
      const script = completionScript(shell, describe(command.parent ?? command));
      terminal.print(options.json ? JSON.stringify({ shell, script }) : script);
    });
  return command;
}
