import { expect, test } from "bun:test";
import { Glob } from "bun";
import { errorMessagesIn } from "./error-messages.ts";

interface Phrase {
  readonly pattern: RegExp;
  readonly instead: string;
  /** What has the phrase and is right: a prompt for a model, or another meaning. */
  readonly allowed?: RegExp | undefined;
}

const phrase = (pattern: RegExp, instead: string, allowed?: RegExp): Phrase => ({
  pattern,
  instead,
  allowed,
});

/** Phrases that no string, comment or page uses, and what to write instead. */
const avoided: readonly Phrase[] = [
  phrase(/\bbegins? anew\b/i, "It resets at 2026-11-17T00:00:00Z."),
  phrase(/\bnobody pays\b/i, "The provider reports a billing problem."),
  phrase(/\bsign of life since\b/i, "Gateway fra-1 has missed its heartbeat since …."),
  phrase(/\bsay --\w/i, "Pass --yes to confirm."),
  phrase(/\bbilled afterwards\b/i, "The account is postpaid."),
  phrase(/\bpaid afterwards\b/i, "The account is postpaid."),
  phrase(/\banew\b/i, "Restarts the session. / This node joins again."),
  phrase(/\b(is|are|was|were) told\b/i, "The client gets 401."),
  phrase(
    /\b(no|any|some)body\b/i,
    "The token cannot be guessed. / If you got this code from someone else, deny it.",
  ),
  phrase(/\bwhoever\b/i, "The provider must renew it."),
  phrase(/\bbeside\b/i, "in addition to tokens / next to it"),
  phrase(/\bin force\b/i, "the running configuration"),
  phrase(/\bsigns? of life\b/i, "heartbeat"),
  phrase(/\bmakes no sense\b/i, "The provider sent an invalid response: …."),
  phrase(/\btold apart\b/i, "broken down by model"),
  phrase(/\bnew work\b/i, "The gateway is not accepting requests."),
  phrase(/\bin words\b/i, "as text"),
  phrase(/\bprove the books\b|\bthe books\b/i, "the ledger"),
  phrase(/\b(has|have|had) left\b/i, "The client disconnected. / 3 credits are left. / The node shut down."),
  phrase(/\bof another\b/i, "The certificate is for a different host."),
  phrase(/\bno such\b/i, "This file does not exist. / Unknown key. / No matching requests."),
  phrase(/\b(that|those) of\b/i, "Name the thing again: the key shares the budget of account acc_1."),
];

/** Phrases that no string uses. */
const avoidedInStrings: readonly Phrase[] = [
  phrase(/\btakes? no\b/i, "is not supported by this model's provider"),
  phrase(/\bmay not (?:use|have|be|sign|make|open|stand)\b/i, "This key cannot use model …."),
  phrase(
    /\bleft out\b|\bleave (?:it|them|the \w+) out\b/i,
    "dropped (fields), skipped (providers) / Remove it.",
  ),
  phrase(/\b(?:be|was|were|is|are|being) asked for\b|; ask for\b/i, "requested"),
  phrase(/\bfor ever\b|\bagain shortly\b|\bretry shortly\b/i, "forever / Retry in 5 s."),
  phrase(/\b(?:provider|host|service|server) answered\b/i, "The provider returned 404."),
  phrase(/["`]write (?:a|an|names|credits|at most)\b/i, "Use a duration such as 30d. / Must be at most 5."),
  phrase(/(?<!there )\bis no (?!longer\b)/i, "is not a file / does not exist"),
  phrase(/\banswered\b|\b(?:an?|the|no|its|whole) answers?\b/i, "The provider returned 404. / the response"),
  phrase(
    /\b(?:is|are|was|were|be|been) given\b|\bgives? (?:no|an?|the|one)\b/i,
    "issued with this key / is not supported by this model's provider",
  ),
  phrase(/\bkept (?:here|by|in|as)\b|\bkeeps? no\b/i, "stored / does not store", /data is kept as/),
  phrase(/\bask(?:s|ed)? for\b/i, "request, requested", /asks for the (?:token|code)/),
  phrase(/\b(?:is|are|was|were|be|been) made\b|\bmakes? (?:an? (?:key|new)|keys)\b/i, "created"),
  phrase(
    /(?<!["`])\b(?:says?|said)\b/i,
    "reports, shows, sets",
    /said stack|as the request says|the tool says|You said|shall say|Say hello/i,
  ),
  phrase(/\b(?:may|can) not\b/i, "cannot"),
];

/** Phrases that no page uses. */
const avoidedInPages: readonly Phrase[] = [
  phrase(/\btold\b/i, "reported"),
  phrase(/\bwhole answers?\b/i, "non-streaming response"),
  phrase(/\bleft out\b/i, "dropped (fields) / skipped (providers, models)"),
];

/** Clients compare this document with the one before. */
const contract = /^src\/http\/openapi\//;
const root = new URL("../../", import.meta.url).pathname;

const commentMark = /^\s*(?:\/?\*+|\/\/|--)(?!\/)\s*/;

interface Line {
  readonly place: string;
  readonly text: string;
  readonly next: string;
  readonly isComment: boolean;
  /** Within the parentheses of an assertion, whose text no user reads. */
  readonly isAssertion: boolean;
}

/** As many empty lines. */
function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, "");
}

async function linesOf(...patterns: readonly string[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (const pattern of patterns) {
    for await (const file of new Glob(pattern).scan({ cwd: root })) {
      if (contract.test(file)) continue;
      const source = await Bun.file(root + file).text();
      const texts = source.split("\n");
      const asserted = source.replaceAll(/\bassert\w*\([^;]*?\);/g, blank).split("\n");
      for (const [index, text] of texts.entries()) {
        const place = `${file}:${index + 1}`;
        const isAssertion = asserted[index] !== text;
        lines.push({
          place,
          text,
          next: texts[index + 1] ?? "",
          isComment: commentMark.test(text),
          isAssertion,
        });
      }
    }
  }
  return lines;
}

const sources = await linesOf("src/**/*.{ts,tsx,css,sql}");
const tests = await linesOf("test/**/*.{ts,tsx}");
const pages = await linesOf("docs/**/*.md", "README.md", "CHANGELOG.md");

/** The literals of a line, and the text between tags. */
function stringsIn(line: string): string {
  const withoutComment = line.replace(/\s\/\/ .*$/, "");
  return /["`<>]/.test(line) ? withoutComment : /^\s*[A-Z][a-z]+ [a-z]/.test(line) ? withoutComment : "";
}

/** The literals of a line without the values in them, and the text between tags. No names of the code. */
function textIn(line: string): string {
  const written = stringsIn(line).replaceAll(/\$\{[^}]*\}/g, "…");
  if (!/["`<>]/.test(written)) return written;
  const literals = [...written.matchAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`?|>([^<>{}=;]*)</g)];
  return literals
    .map(([, quoted = "", template = "", tagged = ""]) => quoted + template + tagged)
    .join(" · ");
}

/** The comment on a line. It goes on to the first word of the next line, because a phrase may be broken there. */
function commentIn({ text, next, isComment }: Line): string {
  if (!isComment) return /\s\/\/ (.*)$/.exec(text)?.[1] ?? "";
  const [first = ""] = commentMark.test(next) ? next.replace(commentMark, "").split(" ") : [];
  return `${text} ${first}`;
}

function uses(
  lines: readonly Line[],
  { pattern, allowed }: Phrase,
  read = (line: Line) => line.text,
): string[] {
  const isUsed = (text: string) => pattern.test(text) && allowed?.test(text) !== true;
  return lines.filter((line) => isUsed(read(line))).map(({ place, text }) => `${place} ${text.trim()}`);
}

test.each([...avoided])("no page says $pattern", (avoidedPhrase) => {
  expect(uses(pages, avoidedPhrase), `write: ${avoidedPhrase.instead}`).toEqual([]);
});

test.each([...avoided])("no string says $pattern", (avoidedPhrase) => {
  const code = sources.filter(({ isComment }) => !isComment);
  expect(
    uses(code, avoidedPhrase, ({ text }) => stringsIn(text)),
    `write: ${avoidedPhrase.instead}`,
  ).toEqual([]);
});

test.each([...avoidedInStrings])("no string says $pattern", (avoidedPhrase) => {
  const code = sources.filter(
    ({ isComment, isAssertion, place }) => !isComment && !isAssertion && !/\.css:/.test(place),
  );
  const found = uses(code, avoidedPhrase, ({ text }) => textIn(text));
  expect(found, `write: ${avoidedPhrase.instead}`).toEqual([]);
});

test.each([...avoided])("no comment says $pattern", (avoidedPhrase) => {
  const found = uses([...sources, ...tests], avoidedPhrase, commentIn);
  expect(found, `write: ${avoidedPhrase.instead}`).toEqual([]);
});

test.each([...avoidedInPages])("no page says $pattern", (avoidedPhrase) => {
  const written = pages.filter(({ place }) => !place.startsWith("CHANGELOG.md"));
  expect(uses(written, avoidedPhrase), `write: ${avoidedPhrase.instead}`).toEqual([]);
});

const maxMessageLength = 200;

test("no error message is longer than 200 characters, unless it lists values", async () => {
  const long: string[] = [];
  for await (const file of new Glob("src/**/*.{ts,tsx}").scan({ cwd: root })) {
    for (const { line, text, length } of errorMessagesIn(await Bun.file(root + file).text())) {
      if (length > maxMessageLength) long.push(`${file}:${line} ${length} characters: ${text}`);
    }
  }
  expect(long, "say what happened, why with real values, and what to do").toEqual([]);
});

test("an error message's length counts what is joined, and ten characters for each value", () => {
  const value = (text: string) => `\${${text}}`;
  const source = ["throw new Refused(", '  "one " +', `    \`two ${value('name(")")')} three\`,`, ");"].join(
    "\n",
  );
  expect(errorMessagesIn(source)).toEqual([{ line: 1, text: "one two … three", length: 24 }]);
  expect(errorMessagesIn(`problems.add(path, \`one of ${value('names.join(", ")')}\`)`)).toEqual([]);
});

test("no doc comment begins with a pronoun for what stands elsewhere: Of, The same, Those", async () => {
  const root = new URL("../../src/", import.meta.url).pathname;
  const found: string[] = [];
  for await (const file of new Glob("**/*.{ts,tsx}").scan({ cwd: root })) {
    const lines = (await Bun.file(root + file).text()).split("\n");
    for (const [index, line] of lines.entries()) {
      const before = lines[index - 1]?.trim() ?? "";
      const isFirst = line.includes("/**") || before === "/**";
      if (isFirst && /(?:\/\*\*|^\s*\*) (?:Of|The same|Those)\b/.test(line))
        found.push(`${file}:${index + 1} ${line.trim()}`);
    }
  }
  expect(found, "name the subject: `The provider of the last attempt.`").toEqual([]);
});
