import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newPlace, type Place, sluice } from "./fixtures.ts";

function prepared(): Place {
  const place = newPlace();
  writeFileSync(join(place.folder, "file"), "");
  mkdirSync(join(place.folder, "folder"));
  return place;
}

/** A sentence: one or a few lines that begin with what is wrong, and no trace of the program's inside. */
function expectSentence(stderr: string): void {
  expect(stderr).toMatch(/^(error: |✗ )\S/);
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(stderr).not.toContain("Error:");
}

const refused: [line: string, said: string][] = [
  ["serve --data /proc/foo --port 0", "/proc/foo cannot be created"],
  ["serve --data file --port 0", "is not a folder"],
  ["serve --data file/below --port 0", "is not a folder; pass a different folder with --data"],
  ["serve --data /proc/1/foo/bar --port 0", "/proc/1/foo/bar"],
  ["serve --config missing.toml", "this file does not exist"],
  ["serve --config folder", "it cannot be read: it is a folder"],
  ["keys create --mode credit --data /proc/foo", "/proc/foo cannot be created"],
  ["keys create --mode credit --data file", "is not a folder"],
  ["keys list --data /proc/foo", "/proc/foo has no data yet"],
  ["keys list --data file", "is not a folder; pass a different folder with --data"],
  ["keys list --config folder", "it cannot be read: it is a folder"],
  ["config check folder", "it cannot be read: it is a folder"],
  ["config init folder", "already exists; move it away"],
  ["config init /proc/foo --yes", "/proc/foo cannot be written: the folder does not exist"],
  ["config init nowhere/new.toml --yes", "cannot be written: the folder does not exist"],
  ["config import litellm folder", "folder cannot be read: it is a folder"],
  ["models import missing.json", "missing.json cannot be read: it does not exist"],
  ["restore missing.db --yes", "missing.db does not exist"],
  ["restore folder --yes", "is not a Sluice database"],
  ["health --port 1", "no response from http://127.0.0.1:1"],
];

const misused: [line: string, said: string][] = [
  ["help nonsense", 'unknown command "nonsense"'],
  ["help keys craete", 'unknown command "keys craete", did you mean "create"?'],
  ["nonsense", "Try `sluice --help`"],
  ["nonsense --help", 'unknown command "nonsense"'],
  ["keys craete --help", 'unknown command "keys craete", did you mean "create"?'],
  ["keys nonsense", "unknown command"],
  ["serve extra", "too many arguments"],
  ["serve --nonsense", "unknown option"],
  ["serve --port abc", "from 0 to 65535"],
  ["serve --port 70000", "from 0 to 65535"],
  ["serve --port -1", "from 0 to 65535"],
  ["serve --host=", "such as 127.0.0.1"],
  ["serve --host http://here", "such as 127.0.0.1"],
  ["serve --host 1.2.3.4:80", "such as 127.0.0.1"],
  ["health --host ::g", "such as 127.0.0.1"],
  ["keys create", "--mode"],
  ["keys create --mode nonsense", "credit, token_budget"],
  ["keys create --mode credit --credit 2,5", "a decimal point"],
  ["keys create --mode credit --credit -1", "Use credits such as 5"],
  ["keys create --mode credit --credit 1e3", "Use credits such as 5"],
  ["keys create --mode token_budget --budget 2,5", "a whole number, 0 or more"],
  ["keys create --mode token_budget --budget 1,00", "a whole number, 0 or more"],
  ["keys create --mode credit --rpm 0", "a whole number from 1"],
  ["keys create --mode credit --expires yesterday", "a duration such as 30d"],
  ["keys topup slu_12345678 2,5", "a decimal point"],
  ["usage --since nonsense", "a duration such as 7d"],
  ["ledger export --format nonsense", "csv, jsonl"],
  ["completion nonsense", "bash, zsh, fish"],
];

describe("what cannot be done is told in a sentence", () => {
  for (const [line, said] of refused) {
    test(`sluice ${line}`, async () => {
      const { code, stdout, stderr } = await sluice(prepared(), ...line.split(" "));
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expectSentence(stderr);
      expect(stderr).toContain(said);
    });
  }
});

describe("what makes no sense is told in a sentence", () => {
  for (const [line, said] of misused) {
    test(`sluice ${line}`, async () => {
      const { code, stdout, stderr } = await sluice(prepared(), ...line.split(" "));
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expectSentence(stderr);
      expect(stderr).toContain(said);
    });
  }

  test("and as JSON where that is wanted", async () => {
    for (const [line, said] of [
      ["keys create --mode nonsense --json", "Allowed choices are credit, token_budget"],
      ["keys nonsense --json", "unknown command 'nonsense'"],
      ["usage --nonsense --json", "unknown option '--nonsense'"],
    ] as const) {
      const { code, stdout, stderr } = await sluice(newPlace(), ...line.split(" "));
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      const { message } = (JSON.parse(stderr) as { error: { message: string } }).error;
      expect(message).toContain(said);
      expect(message).not.toStartWith("error:");
    }
  });

  test("in the environment too", async () => {
    const env = { SLUICE_PORT: "http", SLUICE_HOST: "a b", SLUICE_LOG_LEVEL: "loud" };
    const { code, stderr } = await sluice(newPlace({ env }), "serve");
    expect(code).toBe(1);
    expectSentence(stderr);
    for (const name of Object.keys(env)) expect(stderr).toContain(`${name}: must be`);
  });
});

describe("the usual ways to ask", () => {
  test("for the version", async () => {
    const { stdout } = await sluice(newPlace(), "version");
    for (const words of [["--version"], ["-V"]]) {
      expect(await sluice(newPlace(), ...words)).toEqual({ code: 0, stdout, stderr: "" });
    }
  });

  test("for help", async () => {
    for (const [words, same] of [
      ["help", "--help"],
      ["help keys", "keys --help"],
      ["keys help", "keys --help"],
      ["help keys create", "keys create --help"],
      ["keys help create", "keys create --help"],
    ] as const) {
      const asked = await sluice(newPlace(), ...words.split(" "));
      expect(asked).toEqual(await sluice(newPlace(), ...same.split(" ")));
      expect(asked.code).toBe(0);
    }
  });
});
