import { describe, expect, test } from "bun:test";
import { ResponseReader } from "../../src/wire/response-reader.ts";
import { WireError } from "../../src/wire/transfer.ts";
import { seededRandom } from "../support/random.ts";
import { randomCuts } from "./cuts.ts";
import { type NodeReading, nodePath, readByNode } from "./node-parser.ts";
import { everySingleMutation, randomResponse } from "./random-answers.ts";
import { readPieces } from "./reading.ts";

const runs = process.env["SLUICE_SOAK"] === "1" ? 100_000 : 2_000;
const batch = 10_000;

/** How our parser reads an answer after which the server closes. */
interface OwnReading {
  readonly outcome: "complete" | "broken off" | "refused";
  readonly status: number | null;
  readonly body: string;
  readonly get: (name: string) => string | null;
}

function readHere(pieces: readonly Buffer[]): OwnReading {
  try {
    const { statuses, body, isComplete, endsWithConnection, head } = readPieces(pieces);
    const outcome = isComplete || endsWithConnection ? "complete" : "broken off";
    return { outcome, status: statuses[0] ?? null, body, get: (name) => head?.get(name) ?? null };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { outcome: "refused", status: null, body: "", get: () => null };
  }
}

/** The answer up to its end. We drop surplus bytes with the connection; Node would read them as another answer. */
function upToItsEnd(answer: Buffer): Buffer {
  const reader = new ResponseReader();
  const ignore = { answered() {}, received() {} };
  try {
    for (const [index, byte] of answer.entries()) {
      reader.read(Buffer.of(byte), ignore);
      if (reader.isComplete) return answer.subarray(0, index + 1);
    }
  } catch {
    // Rejected, so all of it counts.
  }
  return answer;
}

/** Where Node may reject, or read differently, what we accept. */
const exceptions: readonly { readonly why: string; readonly isOne: RegExp }[] = [
  {
    why: "a tab is blank space behind a value (RFC 9110, 5.6.3), which parsers before llhttp 9 did not know",
    isOne: /\r\n(?:content-length|transfer-encoding):[\t ]*\w+ *\t[\t ]*\r\n/i,
  },
  {
    why: "a line of a trailer is checked when it has ended; an answer that breaks off within one is not whole anyway",
    isOne: /\r\n0+(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*[^\r\n]+$/,
  },
];

function disagreement(answer: Buffer, own: OwnReading, node: NodeReading): string | null {
  // Without a status there is no complete head, so nothing was accepted.
  if (own.outcome === "refused" || own.status === null) return null;
  const text = answer.toString("latin1");
  if (exceptions.some(({ isOne }) => isOne.test(text))) return null;
  if (node.problem !== null && node.problem !== "ECONNRESET") return `Node rejects it: ${node.problem}`;
  if (own.outcome === "complete" && !node.isComplete) return "it is complete only here";
  if (own.outcome === "broken off" && node.isComplete) return "it is complete only to Node";
  if (own.status !== node.status) return `the status is ${own.status} here and ${node.status} to Node`;
  if (own.body !== node.body) return `the body is ${JSON.stringify(own.body)} here`;
  return disagreementOnHeaders(own, node.headers);
}

/** Only names of letters, digits and hyphens can be looked up, and only the first of several is returned. */
function disagreementOnHeaders(own: OwnReading, headers: readonly string[]): string | null {
  const seen = new Set<string>();
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    if (seen.has(name) || !/^[a-z0-9-]+$/.test(name)) continue;
    seen.add(name);
    if (own.get(name) !== headers[at + 1]) return `${name} is ${JSON.stringify(own.get(name))} here`;
  }
  return null;
}

interface Agreement {
  readonly accepted: number;
  readonly refused: number;
  readonly disagreements: readonly string[];
}

async function compare(answers: readonly Buffer[]): Promise<Agreement> {
  const whole = answers.map(upToItsEnd);
  const disagreements: string[] = [];
  let refused = 0;
  for (let from = 0; from < whole.length; from += batch) {
    const some = whole.slice(from, from + batch);
    const readings = await readByNode(some);
    for (const [index, answer] of some.entries()) {
      const own = readHere([Buffer.from(answer)]);
      if (own.outcome === "refused") refused += 1;
      const node = readings[index];
      const problem = node === undefined ? "Node is silent" : disagreement(answer, own, node);
      if (problem !== null) disagreements.push(`${JSON.stringify(answer.toString("latin1"))}: ${problem}`);
    }
  }
  return { accepted: whole.length - refused, refused, disagreements: disagreements.slice(0, 20) };
}

if (nodePath === null) {
  test.skipIf(true)("SKIPPED: Node is not installed, so answers were not compared with its parser", () => {});
} else {
  describe("nothing is accepted that Node's parser rejects, and what both accept is the same to both", () => {
    test(`${runs} random answers`, async () => {
      const random = seededRandom(20_261_115);
      const { accepted, refused, disagreements } = await compare(
        Array.from({ length: runs }, () => randomResponse(random)),
      );
      expect(disagreements).toEqual([]);
      expect(accepted).toBeGreaterThan(runs / 5);
      expect(refused).toBeGreaterThan(runs / 5);
    }, 600_000);

    for (const [what, answer] of [
      ["a length", "HTTP/1.1 200 OK\r\nA-b: c\r\nContent-Length: 2\r\n\r\n{}"],
      ["chunks", 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a="b"\r\n{}\r\n0\r\nx: y\r\n\r\n'],
    ] as const) {
      test(`an answer with ${what}, each of its bytes changed in turn`, async () => {
        const { accepted, disagreements } = await compare(everySingleMutation(answer));
        expect(disagreements).toEqual([]);
        expect(accepted).toBeGreaterThan(100);
      }, 120_000);
    }
  });
}

test("how the network splits an answer changes nothing", () => {
  const random = seededRandom(3);
  for (let run = 0; run < 2_000; run++) {
    const answer = randomResponse(random);
    const whole = readHere([Buffer.from(answer)]);
    const cut = readHere(randomCuts(answer, random));
    expect([cut.outcome, cut.status, cut.body]).toEqual([whole.outcome, whole.status, whole.body]);
  }
});
