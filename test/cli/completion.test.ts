import { describe, expect, test } from "bun:test";
import { newPlace, sluice } from "./fixtures.ts";

async function script(shell: string): Promise<string> {
  return (await sluice(newPlace(), "completion", shell)).stdout;
}

describe("bash", () => {
  /** Asks a real bash what it would offer; the last word is the one being typed. */
  async function offered(...words: string[]): Promise<string[]> {
    const typed = ["sluice", ...words].map((word) => `'${word}'`).join(" ");
    const program = `${await script("bash")}
      COMP_WORDS=(${typed}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = Bun.spawn(["bash", "--norc", "-c", program], { stdout: "pipe", stderr: "pipe" });
    expect(await new Response(child.stderr).text()).toBe("");
    return (await new Response(child.stdout).text()).trim().split("\n");
  }

  test("offers commands, then what is below them", async () => {
    expect(await offered("k")).toEqual(["keys"]);
    expect(await offered("keys", "re")).toEqual(["revoke"]);
    expect(await offered("keys", "s")).toEqual(["show", "suspend"]);
    expect(await offered("completion", "")).toContain("zsh");
  });

  test("offers options of the command, also behind its arguments", async () => {
    expect(await offered("keys", "create", "--m")).toEqual(["--mode", "--max-concurrent", "--models"]);
    expect(await offered("keys", "topup", "slu_12345678", "5", "--ref")).toEqual(["--reference"]);
  });

  test("offers the values that an option takes", async () => {
    expect(await offered("keys", "create", "--mode", "")).toEqual(["credit", "token_budget"]);
    expect(await offered("usage", "--by", "m")).toEqual(["month", "model"]);
  });
});

test("zsh and fish get a script with the same words and what they mean", async () => {
  const [zsh, fish] = [await script("zsh"), await script("fish")];
  expect(zsh).toStartWith("#compdef sluice");
  expect(zsh).toContain("'keys create'*) items=(");
  expect(zsh).toContain("'revoke:Revoke a key permanently'");
  expect(fish).toContain(
    "complete -c sluice -f -n '__sluice_at keys' -a revoke -d 'Revoke a key permanently'",
  );
  expect(fish).toContain("-l mode -x -a 'credit token_budget'");
});

test("another shell is a misuse", async () => {
  expect((await sluice(newPlace(), "completion", "tcsh")).code).toBe(2);
});
