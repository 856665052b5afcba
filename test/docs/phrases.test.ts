import { expect, test } from "bun:test";
import { Glob } from "bun";

/** Phrases that we do not use, and what to write instead. A phrase is added once no text has it any more. */
const avoided: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bbegins anew at\b/, "It resets at 2026-11-17T00:00:00Z."],
  [/\bnobody pays\b/, "The provider reports a billing problem."],
  [/\bmakes no sense: /, "The provider sent an invalid response: an event that is not a JSON object."],
  [/\bsign of life since\b/, "Gateway fra-1 has missed its heartbeat since …."],
  [/\bsay --yes\b/, "Pass --yes to confirm."],
  [/\bbilled afterwards\b/, "The account is postpaid."],
];

test.each([...avoided])("no string, comment or page says %p", async (phrase, instead) => {
  const root = new URL("../../", import.meta.url).pathname;
  const found: string[] = [];
  for (const pattern of ["src/**/*.{ts,tsx}", "docs/**/*.md", "README.md"]) {
    for await (const file of new Glob(pattern).scan({ cwd: root })) {
      const lines = (await Bun.file(root + file).text()).split("\n");
      for (const [index, line] of lines.entries())
        if (phrase.test(line)) found.push(`${file}:${index + 1} ${line.trim()}`);
    }
  }
  expect(found, `write: ${instead}`).toEqual([]);
});
