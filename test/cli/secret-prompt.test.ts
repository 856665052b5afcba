import { expect, test } from "bun:test";
import { which } from "bun";
import { program } from "../support/process.ts";
import { newPlace } from "./fixtures.ts";

const script = which("script");

/** `script` gives it a terminal, and writes what a person would see there. */
test.skipIf(script === null)(
  "the key that connect asks for is not shown while it is typed",
  async () => {
    const { folder } = newPlace();
    const command = [...program(), "connect", "curl", "--url", "http://127.0.0.1:1"].join(" ");
    const child = Bun.spawn([script ?? "", "-qec", command, "/dev/null"], {
      cwd: folder,
      env: { HOME: folder, PATH: process.env["PATH"] ?? "", TERM: "dumb" },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    const key = "slu_typed-by-a-person";
    let seen = "";
    let isTyped = false;
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      seen += piece;
      if (isTyped || !seen.includes("not shown): ")) continue;
      isTyped = true;
      child.stdin.write(`${key}\n`);
      child.stdin.flush();
    }
    await child.exited;
    const [before = "", after = ""] = seen.split("curl ", 2);
    expect(before).toContain("API key");
    // What is typed is not echoed; the line to paste has it.
    expect(before).not.toContain("typed-by-a-person");
    expect(after === "" ? seen : after).toContain(key);
  },
  30_000,
);
