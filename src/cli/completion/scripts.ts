import { shellQuoted } from "../../base/text/shell-word.ts";
import type { Completion } from "./describe.ts";

export function completionScript(shell: "bash" | "zsh" | "fish", completions: readonly Completion[]): string {
  if (shell === "bash") return bash(completions);
  return shell === "zsh" ? zsh(completions) : fish(completions);
}

/** The `case` of one path: `keys create` also covers the arguments after it, a group only itself. */
function pattern(completion: Completion, all: readonly Completion[]): string {
  const isGroup = all.some(
    (other) => other.path !== completion.path && startsWith(other.path, completion.path),
  );
  return isGroup ? shellQuoted(completion.path) : `${shellQuoted(completion.path)}*`;
}

function startsWith(path: string, beginning: string): boolean {
  return beginning === "" || path.startsWith(`${beginning} `);
}

function choiceCases(completions: readonly Completion[]): string[] {
  const merged = new Map<string, Set<string>>();
  for (const { choices } of completions) {
    for (const [option, values] of choices) {
      merged.set(option, new Set([...(merged.get(option) ?? []), ...values]));
    }
  }
  return [...merged].map(([option, values]) => `    ${option}) words='${[...values].join(" ")}' ;;`);
}

function bash(completions: readonly Completion[]): string {
  const cases = completions.map(
    (completion) =>
      `      ${pattern(completion, completions)}) words='${completion.words.map((word) => word.text).join(" ")}' ;;`,
  );
  return `# bash completion for sluice
_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    path="\${path:+$path }$word"
  done
  case "$previous" in
${choiceCases(completions).join("\n")}
    --config|--data) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [[ -z $words ]]; then
    case "$path" in
${cases.join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sluice sluice`;
}

function zsh(completions: readonly Completion[]): string {
  const cases = completions.map((completion) => {
    const items = completion.words.map(({ text, meaning }) =>
      shellQuoted(`${text}:${meaning.replaceAll(":", "\\:")}`),
    );
    return `    ${pattern(completion, completions)}) items=(${items.join(" ")}) ;;`;
  });
  return `#compdef sluice
# zsh completion for sluice
_sluice() {
  local previous="\${words[CURRENT-1]}" typed="" word choices=""
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && break
    typed="\${typed:+$typed }$word"
  done
  case "$previous" in
${choiceCases(completions)
  .map((line) => line.replace("words=", "choices="))
  .join("\n")}
    --config|--data) _files; return ;;
  esac
  if [[ -n $choices ]]; then
    compadd -- \${=choices}
    return
  fi
  case "$typed" in
${cases.join("\n")}
  esac
  _describe 'sluice' items || _files
}
compdef _sluice sluice`;
}

function fish(completions: readonly Completion[]): string {
  const lines = completions.flatMap(({ path, words, choices }) => {
    const condition = `-n ${shellQuoted(`__sluice_at ${path}`.trim())}`;
    return words.map(({ text, meaning }) => {
      const about = meaning === "" ? "" : ` -d ${shellQuoted(meaning)}`;
      if (!text.startsWith("--")) return `complete -c sluice -f ${condition} -a ${text}${about}`;
      const values = choices.get(text);
      const list = values === undefined ? "" : ` -x -a ${shellQuoted(values.join(" "))}`;
      return `complete -c sluice ${condition} -l ${text.slice(2)}${list}${about}`;
    });
  });
  return `# fish completion for sluice
function __sluice_at
  set -l words (commandline -opc)
  set -l typed
  for word in $words[2..-1]
    string match -q -- '-*' $word; and break
    set -a typed $word
  end
  test (count $typed) -ge (count $argv); or return 1
  test (count $argv) -eq 0; and test (count $typed) -gt 0; and return 1
  for index in (seq (count $argv))
    test "$typed[$index]" = "$argv[$index]"; or return 1
  end
end
${lines.join("\n")}`;
}
