import type { SeededRandom } from "../support/random.ts";

/** Valid and nearly valid answers, for comparing two parsers. */

const statusLines = [
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200",
  "HTTP/1.1 404 Not Found",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 500 Orië",
];

const headers = [
  "Content-Type: application/json",
  "x-empty:",
  "x-blank: \t ",
  "x-name:value",
  'X-Name: a, b; c="d"',
  "x-latin: é",
  "connection: keep-alive",
  "Connection: close",
  "x_under.score!: ~",
  "upgrade: h2c",
  "keep-alive: timeout=5",
];

/** Headers on which parsers may disagree about the end of the answer. */
const traps = [
  "Content-Length: 5",
  "content-length: 005",
  "Content-Length: +5",
  "Content-Length: 5, 5",
  "Content-Length:",
  "Content-Length : 5",
  "Content\rLength: 5",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding:\x0bchunked",
  'transfer-encoding: "chunked"',
  " folded",
  "\tfolded: as well",
  "no colon",
  ": no name",
  "",
];

const sizeEnds = [
  "",
  "",
  "",
  ";a",
  ";a=b",
  ';a="b c"',
  ';a="\\""',
  ";a;b=c",
  " ",
  "\t",
  ";",
  ";a=",
  " ;a",
  "; a",
  ';a="',
  ";a=é",
  "x",
];
const trailers = [
  "",
  "",
  "",
  "x-sum: 1\r\n",
  "x-sum: 1\r\nx: y\r\n",
  "x sum: 1\r\n",
  "nonsense\r\n",
  " x: y\r\n",
  "content-length: 3\r\n",
];

const bytes = '\r\n\0\x01\t\x0b\x0c\x7f\x80\xff :;,"\\=+-_/.0159afAFgGxXzZ(){}[]@';

export function randomResponse(random: SeededRandom): Buffer {
  const interim = random.chance(0.1) ? "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" : "";
  const lines = Array.from({ length: random.below(4) }, () => random.pick(headers));
  const data = "hello world, this is data".slice(0, random.below(26));
  let body = data;
  const framing = random.below(5);
  if (framing <= 1) {
    lines.push(random.pick(["Transfer-Encoding: chunked", "transfer-encoding:Chunked "]));
    body = randomChunks(random, data);
  } else if (framing <= 3) lines.push(`Content-Length: ${data.length}`);
  if (random.chance(0.15)) lines.splice(random.below(lines.length + 1), 0, random.pick(traps));
  const head = `${random.pick(statusLines)}\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
  return mutated(Buffer.from(interim + head + body, "latin1"), random);
}

function randomChunks(random: SeededRandom, data: string): string {
  let coded = "";
  for (let rest = data; rest !== ""; ) {
    const chunk = rest.slice(0, 1 + random.below(10));
    rest = rest.slice(chunk.length);
    const prefix = random.chance(0.05) ? random.pick(["0", "0x", "+", " ", "-", "00000000"]) : "";
    const end = random.chance(0.15) ? random.pick(sizeEnds) : "";
    coded += `${prefix}${chunk.length.toString(16)}${end}\r\n${chunk}\r\n`;
  }
  return `${coded}0${random.chance(0.1) ? random.pick(sizeEnds) : ""}\r\n${random.pick(trailers)}\r\n`;
}

/** Mostly unchanged, otherwise with a byte or two changed, removed or inserted. */
function mutated(answer: Buffer, random: SeededRandom): Buffer {
  let text = answer.toString("latin1");
  for (let count = random.pick([0, 0, 1, 1, 2]); count > 0; count--) {
    const at = random.below(text.length + 1);
    const byte = random.chance(0.3) ? String.fromCharCode(random.below(256)) : random.pick([...bytes]);
    const removed = random.pick([0, 1, 1, 2]);
    text = text.slice(0, at) + random.pick([byte, byte, "", "\r\n"]) + text.slice(at + removed);
  }
  return Buffer.from(text, "latin1");
}

/** The answer with each byte in turn replaced by, and preceded by, each byte that has confused parsers. */
export function everySingleMutation(answer: string): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at <= answer.length; at++) {
    for (const byte of '\r\n\0\x01\t\x7f\x80 :;"0x') {
      found.push(Buffer.from(answer.slice(0, at) + byte + answer.slice(at), "latin1"));
      found.push(Buffer.from(answer.slice(0, at) + byte + answer.slice(at + 1), "latin1"));
    }
  }
  return found;
}
